"""Everything an iteration changes, on the device: weights, their moments, statistics, their average, and a tally.

A change is made whole or not at all: where the loss or a gradient is not finite, from that iteration on nothing moves
any more, and the tally says which iteration it was. Nobody need wait for the device to know that. In float16 gradients
may overflow for the scale of the loss: such an iteration changes nothing but the scale, and the next has a smaller one.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from reslab.networks import Network
from reslab.networks.freezing import count_stages_ahead
from reslab.runtime.processes import ALONE, Processes
from reslab.spec.recipe import Recipe
from reslab.training.optimizer import FlatTensors, make_optimizer

LOSS, FAILED_AT, FIRST_SUM = range(3)
FIRST_SCALE, SMALLEST_SCALE, LARGEST_SCALE = (
    2.0**10,
    2.0**-14,
    2.0**16,
)  # docs/inside/log.md has the paper's networks' gradients
STEADY = 2000  # iterations without overflow, after which more may be tried


@dataclass(frozen=True)
class Tally:
    """What the iterations since the last evaluation add up to, read from the device, by the task's names for it.

    `last` is of the last iteration alone.
    """

    loss: float = 0.0
    sums: Mapping[str, float] = field(default_factory=dict)
    last: Mapping[str, float] = field(default_factory=dict)
    failed_at: int | None = None

    @classmethod
    def of(cls, saved: Mapping[str, Any]) -> Tally:
        """Return what a checkpoint has of it; those of versions before know of wrong images alone."""
        if "wrong" not in saved:
            return cls(**saved)
        sums, last = {"wrong": saved["wrong"]}, {"wrong": saved["last_wrong"]}
        return cls(saved["loss"], sums, last, saved["failed_at"])


class LossScale:
    """What the loss is multiplied with, so that float16 holds its gradients, and for how many iterations that has held.

    float16 ends at 6e-8, and most gradients of single pixels are about that. The scale is a power of two: half of it
    where gradients overflow, twice it in time. A checkpoint keeps `state`.
    """

    def __init__(self, device: torch.device) -> None:
        self.state = torch.tensor([FIRST_SCALE, 0.0], dtype=torch.float64, device=device)

    @property
    def factor(self) -> Tensor:
        """What the loss is multiplied with, and gradients are divided by: no rounding comes of it."""
        return self.state[0].float()

    def follow(self, finite: Tensor) -> Tensor:
        """Take note of whether an iteration's gradients were finite; return whether a smaller scale might help."""
        scale, held = self.state.clone()
        steady = held + 1 >= STEADY
        larger = torch.where(steady, (2 * scale).clamp(max=LARGEST_SCALE), scale)
        self.state[0] = torch.where(finite, larger, (scale / 2).clamp(min=SMALLEST_SCALE))
        self.state[1] = torch.where(finite & ~steady, held + 1, 0)
        return scale > SMALLEST_SCALE


class TrainingState:
    """The state of one run.

    `judged` is the network to evaluate. It shares the memory of the trained one, or of its average where the recipe
    asks for one; nothing that is done to run the trained one faster touches it.
    """

    def __init__(
        self, network: Network, recipe: Recipe, *, tallied: tuple[str, ...] = (), processes: Processes = ALONE
    ) -> None:
        self.network, self.tallied, self.processes = network, tallied, processes
        self.optimizer = make_optimizer(network, recipe.optimizer, ahead=count_stages_ahead(network))
        floats = {name: buffer for name, buffer in network.named_buffers() if buffer.is_floating_point()}
        counts = {name: buffer for name, buffer in network.named_buffers() if name not in floats}
        device = self.optimizer.weights.flat.device
        self.statistics, self.counters = (FlatTensors.holding(kind, device=device) for kind in (floats, counts))
        self.parts = [self.optimizer.weights, self.statistics, self.counters]
        self.averages = [part.copy(part.flat.clone()) for part in self.parts] if recipe.average_decay else []
        self.best = [part.copy(part.flat.clone()) for part in self._judged_parts] if recipe.keep_best else []
        self.judged = self._twin()
        self.scale = LossScale(device) if recipe.precision == "fp16" else None
        self.tally = torch.zeros(FIRST_SUM + 2 * len(tallied), dtype=torch.float64, device=device)
        self.sums, self.last = self.tally[FIRST_SUM:].view(2, len(tallied))
        self.set_tally(Tally())

    @torch.no_grad()
    def copy_statistics(self) -> list[Tensor]:
        """Return copies of what a forward pass changes, to take it back if its loss is not finite."""
        return [part.flat.clone() for part in (self.statistics, self.counters)]

    @torch.no_grad()
    def update(self, loss: Tensor, tallied: Tensor, *, before: list[Tensor], controls: Tensor) -> None:
        """Take one iteration's gathered gradients and statistics, or leave everything as it was `before` it.

        `controls` are its rate, its share in the average, and its number.
        """
        assert tallied.shape == self.sums.shape, self.tallied
        rate, share, step = controls
        failed = self.tally[FAILED_AT]
        self.processes.average(self.optimizer.gradients)
        norm = self.optimizer.measure()
        if self.processes.count > 1:
            loss, tallied = self._pool(loss, tallied, before=before[0])
        finite = (loss + norm).abs() < math.inf
        excused = finite
        if self.scale is not None:  # then a smaller one may help, unless it is the loss itself
            excused = finite | (loss.isfinite() & self.scale.follow(finite))
        torch.where(excused | (failed >= 0), failed, step, out=failed)
        going = failed < 0
        allowed = going if self.scale is None else going & finite
        self.optimizer.step(rate, allowed)
        for part, old in zip((self.statistics, self.counters), before, strict=True):
            torch.where(allowed, part.flat, old, out=part.flat)
        for part, average in zip(self.parts, self.averages, strict=False):
            if part.flat.is_floating_point():
                average.flat.lerp_(part.flat, torch.where(allowed, share, 0.0).to(part.flat.dtype))
            else:
                average.flat.copy_(part.flat)
        self.tally[LOSS] += torch.where(going, loss, 0.0)
        self.sums += torch.where(going, tallied, 0)
        self.last.copy_(tallied)

    def _pool(self, loss: Tensor, tallied: Tensor, *, before: Tensor) -> tuple[Tensor, Tensor]:
        """Return the loss and what is tallied of the whole batch; statistics move by the mean of all their moves.

        Moves, because what has not moved must stay what it is to the bit.
        """
        moves = (self.statistics.flat - before).double()
        together = torch.cat([loss[None], tallied.double(), moves])
        self.processes.sum(together)
        loss, tallied, moves = together.split([1, len(tallied), len(moves)])
        torch.add(before, moves / self.processes.count, out=self.statistics.flat)
        return loss[0] / self.processes.count, tallied

    def share(self) -> None:
        """Make the state what it is in the first process."""
        self.processes.take_from_first([*self._changing(), *[weight.data for weight in self._frozen().values()]])

    def read_tally(self) -> Tally:
        """Wait for the device and return the tally."""
        loss, failed_at, *rest = self.tally.tolist()
        count = len(self.tallied)
        sums, last = (dict(zip(self.tallied, part, strict=True)) for part in (rest[:count], rest[count:]))
        return Tally(loss, sums, last, int(failed_at) if failed_at >= 0 else None)

    def set_tally(self, tally: Tally) -> None:
        """Set the tally on the device, without waiting for it; what it does not have is zero."""
        failed_at = -1 if tally.failed_at is None else tally.failed_at
        rest = [part.get(name, 0.0) for part in (tally.sums, tally.last) for name in self.tallied]
        self.tally.copy_(torch.tensor([tally.loss, failed_at, *rest], dtype=torch.float64))

    def tensors(self) -> dict[str, Tensor]:
        """Return everything a checkpoint needs, by name."""
        tensors = {f"network.{name}": tensor for name, tensor in self.network.state_dict().items()}
        for kind, moments in self.optimizer.moments.items():
            tensors |= {f"{kind}.{name}": tensor for name, tensor in moments.views.items()}
        tensors |= self.optimizer.counts
        for kind, parts in (("average", self.averages), ("best", self.best)):
            tensors |= {f"{kind}.{name}": tensor for part in parts for name, tensor in part.views.items()}
        if self.scale is not None:
            tensors["loss_scale"] = self.scale.state
        return tensors

    @torch.no_grad()
    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Copy a checkpoint's tensors in, in place."""
        for name, tensor in self.tensors().items():
            tensor.copy_(tensors[name])

    def snapshot(self) -> list[Tensor]:
        """Return copies of all that iterations change."""
        return [tensor.clone() for tensor in self._changing()]

    @torch.no_grad()
    def restore(self, snapshot: list[Tensor]) -> None:
        """Take back everything that happened since `snapshot`."""
        for tensor, old in zip(self._changing(), snapshot, strict=True):
            tensor.copy_(old)

    @property
    def _judged_parts(self) -> list[FlatTensors]:
        return self.averages or self.parts

    def keep_best(self) -> None:
        """Keep what is judged as the best so far."""
        for part, best in zip(self._judged_parts, self.best, strict=True):
            best.flat.copy_(part.flat)

    def adopt(self, *, best: bool = False) -> None:
        """Make the best weights and statistics the network's own, or their average, where there is one."""
        for part, adopted in zip(self.parts, self.best if best else self._judged_parts, strict=True):
            part.flat.copy_(adopted.flat)

    def _twin(self) -> Network:
        network = copy.deepcopy(self.network)
        tensors = dict(network.named_parameters()) | dict(network.named_buffers())
        for part in self._judged_parts:
            part.attach({name: tensors[name] for name in part.views})
        for name, weight in self._frozen().items():
            tensors[name].data = weight.data
        return network

    def _frozen(self) -> dict[str, Tensor]:
        return {name: weight for name, weight in self.network.named_parameters() if not weight.requires_grad}

    def _changing(self) -> list[Tensor]:
        parts = [*self.parts, *self.optimizer.moments.values(), *self.averages, *self.best]
        scale = [] if self.scale is None else [self.scale.state]
        return [*[part.flat for part in parts], *self.optimizer.counts.values(), self.tally, *scale]
