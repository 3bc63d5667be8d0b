"""Iterations, one after the other. On CUDA each is one replay of a captured graph, asked for some iterations ahead.

What an iteration needs comes in stretches of many: batches, rates and step numbers are made ahead, lie on the device,
and are copied into the places the graph reads. Capturing leaves no trace: what its trial runs changed is taken back.
"""

from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TypeAlias

import torch
from torch import Tensor

from reslab.errors import UserError
from reslab.networks import Network
from reslab.networks.dropout import draw_from
from reslab.networks.fused import can_fuse, can_normalize, fuse, is_available, normalize
from reslab.networks.network import StandIn
from reslab.networks.synchronized import synchronize_norms
from reslab.runtime.capture import Room, capture
from reslab.runtime.execution import NARROW
from reslab.runtime.processes import ALONE, Processes
from reslab.runtime.randomness import mix_seed
from reslab.spec.recipe import Recipe
from reslab.training.schedule import learning_rate, warms_by_error
from reslab.training.state import TrainingState
from reslab.training.task import Task

STRETCH_BYTES = 2**28
MOST_GRAPHS = 8  # one a shape: progressive resizing has a handful; each takes memory besides what they share
AHEAD = 16  # iterations: enough to make a stretch in
Shapes: TypeAlias = tuple[torch.Size, ...]


def reproducible() -> AbstractContextManager[None]:
    """Keep cuDNN to algorithms that give the same bits each time; measured on CIFAR, they are not the slower ones.

    This is a setting of the process: whoever runs trials side by side enters it around all of them.
    """
    return torch.backends.cudnn.flags(enabled=True, deterministic=True)


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """How iterations run, as opposed to what they compute: captured as one CUDA graph, by our own kernels, compiled.

    Our own kernels are for all of the network (`fused`) or for what is between its convolutions (`normalized`). Those
    for all of it take as many parts of a batch side by side as there are `lanes`.
    """

    capture: bool = False
    fused: bool = False
    normalized: bool = False
    compile: bool = False
    lanes: int = 1


def choose_runtime(
    network: Network,
    recipe: Recipe,
    device: torch.device | str,
    *,
    image_shape: tuple[int, ...],
    compile: bool = False,
    processes: Processes = ALONE,
) -> Runtime:
    """Capture on CUDA, unless the network recomputes its activations, which asks the device questions midway.

    Nor are normalizations captured that several processes share: they speak with each other midway.
    Our own kernels are used in bfloat16 and float16, unless the network is to be compiled or a part of it is frozen,
    for they normalize by the batch: those for all of it, made for images of its spec's size alone, where there are any,
    else those for what is between its convolutions.
    """
    capture = torch.device(device).type == "cuda" and not getattr(network, "checkpointing", False)
    capture = capture and (processes.count == 1 or not recipe.sync_norms)
    narrow = recipe.precision in NARROW and recipe.channels_last
    ours = capture and narrow and not compile and recipe.freeze is None and is_available(device)
    ours = ours and network.takes_stand_in
    fitting = can_fuse(network.spec) and network.spec.input_shape == image_shape and recipe.resizing.initial == 1
    fused = ours and fitting
    normalized = ours and not fused and can_normalize(network.spec)
    lanes = recipe.accumulate if fused else 1
    return Runtime(capture=capture, fused=fused, normalized=normalized, compile=compile, lanes=lanes)


@dataclass
class Stretch:
    """Iterations whose batches and rates are on the device."""

    first: int
    batches: tuple[Tensor, ...]
    controls: Tensor


@dataclass
class Track:
    """Iterations whose batches have one shape: the places they read, and what replays them once they are recorded.

    `seen` is what the last of them saw: its loss, what is tallied of it, and the statistics from before it. A replay
    writes it anew, in the same memory.
    """

    batch: tuple[Tensor, ...]
    replay: Callable[[], None] | None = None
    seen: tuple[Tensor, Tensor, list[Tensor]] | None = None


class Pace:
    """Lets the host run some iterations ahead of the device, and no farther.

    Left to itself it fills the driver's queues, and whoever then launches waits inside the driver, where all trials of
    the process wait with it.
    """

    def __init__(self) -> None:
        self.marks: deque[torch.cuda.Event] = deque()

    def keep(self) -> None:
        """Mark the end of an iteration just asked for; wait until the one some iterations before has ended."""
        mark = self.marks.popleft() if len(self.marks) >= AHEAD else torch.cuda.Event(blocking=True)
        mark.synchronize()
        mark.record()
        self.marks.append(mark)


class Stepper:
    """Runs the iterations of one training."""

    def __init__(
        self,
        state: TrainingState,
        task: Task,
        recipe: Recipe,
        *,
        seed: int,
        runtime: Runtime,
        rate: Callable[[int], float] | None = None,
    ) -> None:
        """Take what is trained; `rate` gives each iteration's, where that is not the recipe's."""
        self.rate = rate
        self.state, self.task, self.recipe, self.seed, self.runtime = state, task, recipe, seed, runtime
        self.network = state.network
        if runtime.fused:
            self._fuse()
        if runtime.normalized:
            self.network.stand_in = normalize(self.network, NARROW[recipe.precision])
        self.take_back = None
        if recipe.sync_norms and state.processes.count > 1:
            self.take_back = synchronize_norms(self.network, state.processes)
        if runtime.compile:
            self.network.stand_in = StandIn(torch.compile(self.network.trunk))
        self.device = state.tally.device
        self.controls = torch.zeros(3, dtype=torch.float64, device=self.device)
        self.stretch: Stretch | None = None
        self.tracks: dict[Shapes, Track] = {}  # the one at hand is the last
        self.room = self._make_room()
        self.pace = Pace() if self.device.type == "cuda" else None
        # Whatever is random in the network draws from here; most networks have nothing that is.
        generator = torch.Generator(self.device)
        self.generator = generator if draw_from(self.network, generator) else None

    def _fuse(self) -> None:
        self.network.stand_in = fuse(self.network, NARROW[self.recipe.precision], lanes=self.runtime.lanes)

    def leave(self) -> None:
        """Give the network back as it was: nothing that stood in for its own layers stays behind."""
        self.network.stand_in = None
        if self.take_back is not None:
            self.take_back()

    @property
    def waiting_is_free(self) -> bool:
        """Whether the device has nothing to do that could go on meanwhile."""
        return self.device.type == "cpu"

    def advance(self, step: int, *, warmed_at: int | None) -> None:
        """Run iteration `step`; on CUDA, only ask for it."""
        stretch = self._reach(step, warmed_at)
        track = self.track
        for place, batches in zip(track.batch, stretch.batches, strict=True):
            place.copy_(batches[step - stretch.first])
        self.controls.copy_(stretch.controls[step - stretch.first])
        if self.runtime.capture and track.replay is None:
            track.replay = self._capture()
        if self.generator is not None:
            # Of each process its own: what they draw is for different images.
            number = step * self.state.processes.count + self.state.processes.rank
            self.generator.manual_seed(mix_seed(self.seed, number))
        if track.replay is not None:
            track.replay()
        else:
            self._work()
        if not self._alone:
            self._update()
        if self.pace is not None:
            self.pace.keep()

    def _reach(self, step: int, warmed_at: int | None) -> Stretch:
        """Return a stretch that has `step`, loading it where the one at hand has not."""
        stretch = self.stretch
        if stretch is None or not stretch.first <= step < stretch.first + len(stretch.controls):
            batches = self.task.load(step, self._stretch_length(step, warmed_at))
            rows = [self._control(number, warmed_at) for number in range(step, step + len(batches[0]))]
            controls = torch.tensor(rows, dtype=torch.float64).to(self.device, non_blocking=True)
            stretch = self.stretch = Stretch(step, batches, controls)
            self._change_track(batches)
        return stretch

    @property
    def track(self) -> Track:
        """What the iterations at hand go by."""
        return next(reversed(self.tracks.values()))

    def _change_track(self, batches: tuple[Tensor, ...]) -> None:
        """Go on by the track for such batches, a new one where they are of a shape not seen lately."""
        shapes = tuple(part.shape[1:] for part in batches)
        track = self.tracks.pop(shapes, None) or Track(tuple(torch.empty_like(part[0]) for part in batches))
        self.tracks[shapes] = track
        while len(self.tracks) > (MOST_GRAPHS if self.runtime.capture else 1):
            self._forget(next(iter(self.tracks)))

    def _forget(self, *shapes: Shapes) -> None:
        """Let tracks go, as soon as what was asked of them is through."""
        if self.pace is not None:
            torch.cuda.current_stream(self.device).synchronize()
        for each in shapes:
            del self.tracks[each]

    def _stretch_length(self, step: int, warmed_at: int | None) -> int:
        """One iteration while its outcome decides the next one's rate; on the CPU too, where nothing is gained."""
        if warms_by_error(self.recipe, warmed_at) or not self.tracks or self.waiting_is_free:
            return 1
        size = sum(place.numel() * place.element_size() for place in self.track.batch)
        return max(1, min(STRETCH_BYTES // size, self.recipe.iterations - step))

    def _control(self, step: int, warmed_at: int | None) -> tuple[float, float, float]:
        """Return an iteration's rate, its share in the average (all of it until that begins), and its number."""
        begun = step > self.recipe.average_from * self.recipe.iterations
        share = 1 - self.recipe.average_decay if begun else 1.0
        rate = learning_rate(self.recipe, step, warmed_at=warmed_at) if self.rate is None else self.rate(step)
        return rate, share, float(step)

    @property
    def _alone(self) -> bool:
        return self.state.processes.count == 1

    def _work(self) -> None:
        """Run what can be recorded: the iteration, or, where its sums are everyone's, what comes before them."""
        self._find_gradients()
        if self._alone:
            self._update()

    def _find_gradients(self) -> None:
        """Forward and backward: nothing here waits for the device or depends on what it computed."""
        batch, parts = self.recipe.batch // self.state.processes.count, self.recipe.accumulate // self.runtime.lanes
        size, scale = batch // parts, self.state.scale
        before = self.state.copy_statistics()
        losses, sums = [], []
        for first in range(0, batch, size):
            part = tuple(place[first : first + size] for place in self.track.batch)
            loss, tallied = self.task.loss(self.network, part)
            loss = loss / parts if parts > 1 else loss
            (loss if scale is None else scale.factor * loss).backward()
            losses.append(loss.detach().double())
            sums.append(tallied)
        self.state.optimizer.gather(scale=None if scale is None else scale.factor)
        self.track.seen = _add(losses), _add(sums), before

    def _update(self) -> None:
        assert self.track.seen is not None
        loss, tallied, before = self.track.seen
        self.state.update(loss, tallied, before=before, controls=self.controls)

    def _capture(self) -> Callable[[], None]:
        """Record an iteration's work as a graph and return what replays it; the state is as it was before."""
        snapshot, replay = self.state.snapshot(), None
        try:
            replay = capture(self._work, device=self.device, generator=self.generator, room=self.room)
        except torch.OutOfMemoryError:
            if len(self.tracks) == self.runtime.lanes == 1:
                raise
        if replay is None:  # graphs of other shapes, and parts side by side, are worth less than going on
            self._forget(*list(self.tracks)[:-1])
            self.room = self._make_room()
            if self.runtime.lanes > 1:
                self.runtime = replace(self.runtime, lanes=1)
                self._fuse()
            replay = capture(self._work, device=self.device, generator=self.generator, room=self.room)
        self.state.restore(snapshot)
        return replay

    def _make_room(self) -> Room | None:
        return Room(self.device) if self.runtime.capture and self.device.type == "cuda" else None


def _add(parts: list[Tensor]) -> Tensor:
    return sum(parts[1:], parts[0])


def assemble(
    network: Network,
    task: Task,
    recipe: Recipe,
    *,
    seed: int,
    device: torch.device | str,
    compile: bool = False,
    own_kernels: bool = True,
    processes: Processes = ALONE,
    rate: Callable[[int], float] | None = None,
) -> Stepper:
    """Put a training together: the network on `device` as its task wants it, its state, and what runs its iterations.

    Without `own_kernels`, torch's do all of it. `rate` gives each iteration's, where that is not the recipe's.
    """
    if compile and not network.takes_stand_in:
        raise UserError("--compile is for networks that classify; leave it out to train a detector")
    network.to(device).train()
    runtime = choose_runtime(
        network, recipe, device, image_shape=task.image_shape, compile=compile, processes=processes
    )
    if not own_kernels:
        runtime = replace(runtime, fused=False, normalized=False, lanes=1)
    task.execution.prepare_network(network)
    state = TrainingState(network, recipe, tallied=task.tallied, processes=processes)
    return Stepper(state, task, recipe, seed=seed, runtime=runtime, rate=rate)
