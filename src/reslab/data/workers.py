"""Processes that prepare images ahead of their use, beside the process that computes."""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from reslab.errors import UserError

AHEAD = 2  # items a worker makes in advance
MOST_WORKERS = 16
STARTING = threading.Lock()  # trials that run at once start workers in threads, and there is one __main__


def count_workers(device: torch.device | str) -> int:
    """Return how many processes decode: ``RESLAB_WORKERS``, or every core beside a GPU, or one beside the CPU.

    Where several processes of this machine train together, they share the cores; what is set is each one's own.
    """
    text = os.environ.get("RESLAB_WORKERS")
    if not text:
        if torch.device(device).type != "cuda":
            return 1
        together = os.environ.get("LOCAL_WORLD_SIZE", "")
        share = len(os.sched_getaffinity(0)) // max(1, int(together) if together.isdecimal() else 1)
        return max(1, min(share, MOST_WORKERS))
    if not text.isdecimal():
        raise UserError(f"RESLAB_WORKERS is '{text}'; give a whole number, 0 for none, or unset it")
    return int(text)


def work_ahead(items: Dataset[Any], wanted: Iterable[Any], *, workers: int) -> Iterator[Any]:
    """Yield the items that are wanted, in their order, made ahead by `workers` processes, or here by none."""
    context = None
    if workers:
        context = torch.multiprocessing.get_context("forkserver")  # the parent may have threads, and CUDA
        context.set_forkserver_preload([__name__, type(items).__module__])
    loader = DataLoader(
        items,
        sampler=wanted,  # pyright: ignore[reportArgumentType]
        batch_size=None,
        num_workers=workers,
        prefetch_factor=AHEAD if workers else None,
        multiprocessing_context=context,
        worker_init_fn=_settle_worker,
        generator=torch.Generator(),  # else it draws from everyone's
    )
    try:
        with _main_unseen():
            made = iter(loader)  # starts the workers
        yield from made
    except (RuntimeError, ConnectionError, EOFError) as error:
        if isinstance(error, RuntimeError) and "DataLoader worker" not in str(error):
            raise
        raise UserError(
            "a process that decodes images was killed, perhaps because memory ran out; use fewer of these processes, "
            "for example with RESLAB_WORKERS=2"
        ) from error


@contextlib.contextmanager
def _main_unseen() -> Iterator[None]:
    """Start processes that do not run the user's script again: they need nothing of it, and it may have no guard."""
    with STARTING:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main


def _settle_worker(number: int) -> None:
    """Leave Ctrl-C to the process that computes, and end with it even where it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    # torch's workers watch their parent, which is the server they were forked from; and that one waits for them.
    parent = torch.multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
