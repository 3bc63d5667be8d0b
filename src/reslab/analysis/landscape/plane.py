"""The plane, or line, of weights that a landscape is drawn over, and the loss and error at points of it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeAlias

import torch
from torch import Tensor

from reslab.analysis.landscape.directions import Tensors
from reslab.analysis.landscape.grid import Floats

Judge: TypeAlias = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Plane:
    """Weights and one or two directions, on the device: a point's weights are w + a d1 + b d2."""

    weights: Tensors
    directions: tuple[Tensors, ...]

    def at(self, coordinates: Tensor) -> dict[str, Tensor]:
        """Return the weights at (points, dimensions), stacked."""
        base, *directions = self._flat
        moved = base.expand(len(coordinates), -1)
        for axis, direction in enumerate(directions):
            moved = moved + coordinates[:, axis, None] * direction
        sizes = [values.numel() for values in self.weights.values()]
        parts = zip(self.weights.items(), moved.split(sizes, 1), strict=True)
        return {name: part.view(-1, *values.shape) for (name, values), part in parts}

    @cached_property
    def _flat(self) -> list[Tensor]:
        """The weights and the directions, each as one row: a network's many small tensors are moved together."""
        return [
            torch.cat([tensors[name].contiguous().flatten() for name in self.weights])
            for tensors in (self.weights, *self.directions)
        ]


@dataclass(frozen=True, kw_only=True)
class Probe:
    """What finds loss and error at stacked weights: a network's passes over images, and its task's judgement of them.

    `settle` gives the statistics of batch normalization at such weights; without it they stay.
    """

    passes: Callable[[Tensors, Tensors, Tensor], Tensor]
    settle: Callable[[Tensors], Tensors] | None
    images: Iterable[tuple[Tensor, Tensor]]
    losses: Judge
    wrong: Judge
    at_once: int

    @torch.no_grad()
    def measure(self, plane: Plane, coordinates: Floats) -> tuple[Floats, Floats]:
        """Return mean loss and share of wrong images at each of (points, dimensions)."""
        some = next(iter(plane.weights.values()))
        places = torch.as_tensor(coordinates).to(some.device, some.dtype).split(self.at_once)
        stacks = [partial(plane.at, place) for place in places]
        return self._add_up(stacks, [len(place) for place in places])

    def measure_stack(self, weights: Tensors, statistics: Tensors) -> tuple[float, float]:
        """Return loss and share of wrong images at a stack of one point, by its own statistics unless they settle."""
        loss, wrong = self._add_up([lambda: weights], [1], statistics)
        return float(loss[0]), float(wrong[0])

    def _add_up(
        self, stacks: Sequence[Callable[[], Tensors]], sizes: list[int], own: Tensors | None = None
    ) -> tuple[Floats, Floats]:
        """Go through the images once, all points seeing each batch; nothing waits for the device before the end."""
        settled = [own or {} if self.settle is None else self.settle(stack()) for stack in stacks]
        sums: list[Tensor] = []
        seen = 0
        for images, targets in self.images:
            found = [
                self._judge(self.passes(stack(), statistics, images), targets)
                for stack, statistics in zip(stacks, settled, strict=True)
            ]
            sums = [total + new for total, new in zip(sums, found, strict=True)] if sums else found
            seen += len(images)
        loss, wrong = torch.cat(sums, 1).cpu().numpy() / seen
        assert loss.shape == (sum(sizes),)
        return loss, wrong

    def _judge(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the sums over images of loss and of what is wrong: (2, points)."""
        points = len(outputs)
        flat, repeated = outputs.flatten(0, 1), targets.repeat(points, *[1] * (targets.dim() - 1))
        found = [judge(flat, repeated).double().view(points, -1).sum(1) for judge in (self.losses, self.wrong)]
        return torch.stack(found)
