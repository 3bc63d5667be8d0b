"""The processes that train one network together, each on its share of every batch. For one alone, nothing here happens.

All have the same state: it begins as the first has it, and every change to it is made of sums that come out the same,
to the bit, in all of them. Whatever is decided on the way is decided by all at once. Tensors on GPUs go by nccl, those
on the CPU by gloo, which also notices when a process falls silent: every iteration asks something by it. A process
that fails leaves word of why, and the others repeat it.
"""

import contextlib
import datetime
import os
import signal
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import PrefixStore, Store  # pyright: ignore[reportPrivateImportUsage]
from torch.distributed.rendezvous import rendezvous

from reslab.errors import UserError
from reslab.spec.recipe import Recipe

T = TypeVar("T")
TIMEOUT_SECONDS = 600.0
STANDARD_INPUT = 0
SECONDS_BETWEEN_LOOKS = 0.02
LATE, GONE = ("timed out", "timeout"), ("peer", "pipe", "closed", "refused", "recv", "gloo")
CAUSE = "cause"  # where the first that fails leaves word


class Lost(UserError):
    """Another process is gone or answers no more, which is no cause of its own."""


@dataclass(frozen=True)
class Processes:
    """How many there are, and which of them this one is."""

    rank: int = 0
    count: int = 1
    timeout_seconds: float = TIMEOUT_SECONDS
    hosts: dist.ProcessGroup | None = None
    store: Store | None = None

    @property
    def first(self) -> bool:
        """Whether this is the one that prints and writes."""
        return self.rank == 0

    def share(self, size: int) -> slice:
        """Return which of `size` things are this one's, in order; all are somebody's, and none are two's."""
        return slice(size * self.rank // self.count, size * (self.rank + 1) // self.count)

    def sum(self, *tensors: Tensor) -> None:
        """Make each tensor the sum over all processes, in place."""
        if self.count > 1:
            with self._listening():
                for tensor in tensors:
                    dist.all_reduce(tensor, group=self._group(tensor))

    def average(self, tensor: Tensor) -> None:
        """Make a tensor the mean over all processes, in place."""
        if self.count > 1:
            self.sum(tensor)
            tensor /= self.count

    def gather(self, tensor: Tensor) -> Tensor:
        """Return everyone's tensor, by rank."""
        if self.count == 1:
            return tensor[None]
        everyones = [torch.empty_like(tensor) for _ in range(self.count)]
        with self._listening():
            dist.all_gather(everyones, tensor, group=self._group(tensor))
        return torch.stack(everyones)

    def take_from_first(self, tensors: Sequence[Tensor]) -> None:
        """Make tensors what they are in the first process, in place."""
        if self.count > 1:
            with self._listening():
                for tensor in tensors:
                    dist.broadcast(tensor, src=0, group=self._group(tensor))

    def ask_first(self, value: T) -> T:
        """Return what the first process calls this with."""
        if self.count == 1:
            return value
        values = [value]
        with self._listening():
            dist.broadcast_object_list(values, src=0, group=self.hosts, device=torch.device("cpu"))
        return values[0]

    def ask_all(self, value: T) -> list[T]:
        """Return what every process calls this with, by rank."""
        if self.count == 1:
            return [value]
        values = [value] * self.count
        with self._listening():
            dist.all_gather_object(values, value, group=self.hosts)
        return values

    def agree(self, *wishes: bool) -> tuple[bool, ...]:
        """Return, for each wish, whether anyone has it. The device is not waited for."""
        if self.count == 1:
            return wishes
        votes = torch.tensor(wishes, dtype=torch.int32)
        self.sum(votes)
        return tuple(vote > 0 for vote in votes.tolist())

    def leave_word(self, error: Exception) -> None:
        """Leave word for the others of why this one fails, unless it merely lost them, or another was the first."""
        if self.store is None or isinstance(error, Lost):
            return
        failed = f"process {self.rank} of {self.count} failed ({type(error).__name__}); its own output says where"
        sentence = str(error) if isinstance(error, UserError) else failed
        with contextlib.suppress(RuntimeError):  # whoever kept it is gone
            self.store.compare_set(CAUSE, "", sentence.encode(errors="backslashreplace").decode())

    def _find_word(self) -> str | None:
        with contextlib.suppress(RuntimeError):
            if self.store is not None and self.store.check([CAUSE]):
                return self.store.get(CAUSE).decode()
        return None

    def _group(self, tensor: Tensor) -> dist.ProcessGroup | None:
        return None if tensor.is_cuda else self.hosts

    @contextlib.contextmanager
    def _listening(self) -> Iterator[None]:
        """Say it in a sentence when another process is gone or answers no more: the one it left, or that it is so."""
        try:
            yield
        except RuntimeError as error:  # gloo has none of its own, only words
            words = str(error).lower()
            late = any(word in words for word in LATE)
            if not late and not any(word in words for word in GONE):
                raise
            what = f"did not answer for {self.timeout_seconds:g} seconds" if late else "is gone"
            remedy = ", or set RESLAB_TIMEOUT=SECONDS to wait longer" if late else ""
            raise Lost(
                self._find_word()
                or f"another of the {self.count} processes {what} (this is process {self.rank}); "
                f"run the same command to resume from the last checkpoint{remedy}"
            ) from error


ALONE = Processes()


def refuse_undivided(recipe: Recipe, count: int) -> None:
    """Refuse a batch that processes cannot share evenly."""
    if recipe.batch % (recipe.accumulate * count):
        parts = f" in {recipe.accumulate} parts" if recipe.accumulate > 1 else ""
        raise UserError(
            f"recipe.batch is {recipe.batch}{parts}, which {count} processes cannot share evenly; "
            f"choose a multiple of {recipe.accumulate * count}"
        )


@contextlib.contextmanager
def joined() -> Iterator[Processes]:
    """Join the processes that torchrun, or `reslab train --processes`, started; without them, be alone.

    On a machine with GPUs each process takes the one of its number there.
    """
    count = _number("WORLD_SIZE", default="1")
    if count == 1:
        yield ALONE
        return
    processes = Processes(_number("RANK"), count, _timeout())
    if torch.cuda.is_available():
        local = _number("LOCAL_RANK")
        if local >= torch.cuda.device_count():
            raise UserError(
                f"there are {torch.cuda.device_count()} GPUs here, but process {local} has none; start no more "
                "processes than there are GPUs, or set CUDA_VISIBLE_DEVICES= to train on the CPU"
            )
        torch.cuda.set_device(local)
    launcher = os.environ.get("RESLAB_RENDEZVOUS")
    if launcher:
        threading.Thread(target=_stop_with_launcher, daemon=True).start()
    timeout = datetime.timedelta(seconds=processes.timeout_seconds)
    with processes._listening():
        place = rendezvous(launcher or "env://", processes.rank, count, timeout=timeout)
        store = find_corner(next(place)[0], rank=processes.rank, count=count, timeout=timeout)
        dist.init_process_group(
            "nccl" if torch.cuda.is_available() else "gloo",
            store=store,
            rank=processes.rank,
            world_size=count,
            timeout=2 * timeout,  # nccl ends a process without a word: let gloo be the first to lose patience
        )
        processes = replace(processes, hosts=dist.new_group(backend="gloo", timeout=timeout), store=store)
    try:
        yield processes
    except Exception as error:  # the group stays as it is: the others may be gone
        processes.leave_word(error)
        raise
    except SystemExit:  # all have stopped as they were asked; threads of the group that live on may abort the process
        dist.destroy_process_group()
        raise
    dist.destroy_process_group()


def find_corner(store: Store, *, rank: int, count: int, timeout: datetime.timedelta) -> Store:
    """Return the part of the launcher's store that the `count` processes alive now have for themselves.

    torchrun, when it starts processes again, may give them the store of the attempt before, and there the addresses of
    dead ones, which would be called in vain. So the first process names a new corner, and tells it only to those alive:
    each asks under a name of its own, which no earlier one had.
    """
    name = uuid.uuid4().hex
    if rank == 0:
        _answer_all(store, name, count, deadline=time.monotonic() + timeout.total_seconds())
        return PrefixStore(name, store)
    store.set(f"asks/{rank}", name)
    store.wait([f"answer/{name}"], timeout)
    corner = store.get(f"answer/{name}").decode()
    store.set(f"heard/{corner}/{rank}", "")
    return PrefixStore(corner, store)


def _answer_all(store: Store, corner: str, count: int, *, deadline: float) -> None:
    """Answer every process that asks, also in the name of an earlier attempt, until all that live have the answer."""
    waiting = set(range(1, count))
    while waiting:
        if time.monotonic() > deadline:
            raise RuntimeError(f"timed out waiting for processes {sorted(waiting)}")
        for rank in waiting:
            if store.check([f"asks/{rank}"]):
                store.set(f"answer/{store.get(f'asks/{rank}').decode()}", corner)
        waiting = {rank for rank in waiting if not store.check([f"heard/{corner}/{rank}"])}
        time.sleep(SECONDS_BETWEEN_LOOKS)


def _stop_with_launcher() -> None:
    """Stop, as if asked to, when the launcher is gone: it holds the other end of standard input open."""
    while os.read(STANDARD_INPUT, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _number(name: str, *, default: str = "") -> int:
    text = os.environ.get(name, default)
    if not text.isdecimal():
        raise UserError(f"{name} is {text!r} in the environment; start processes with torchrun or --processes N")
    return int(text)


def _timeout() -> float:
    text = os.environ.get("RESLAB_TIMEOUT", str(TIMEOUT_SECONDS))
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise UserError(f"RESLAB_TIMEOUT is {text!r}; give the seconds to wait for other processes, such as 600")
    return seconds
