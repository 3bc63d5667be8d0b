"""Products by operators that carry tangents forward and back; on CUDA a batch's work is captured as one graph."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from reslab.analysis.curvature.products import Problem, Products, differentiate_losses
from reslab.analysis.curvature.tangents import Directions, Dual
from reslab.analysis.curvature.tape import make_tape
from reslab.runtime.capture import Room, capture


class Captured(NamedTuple):
    """A batch's places, and what computes with what is there."""

    images: Tensor
    targets: Tensor
    replay: Callable[[], None]


class ForwardOverReverse(Products):
    """For plain and residual networks; blocks named in `without` lose their shortcuts.

    Tangents begin at the first of the parameters, and gradients go back no farther.
    """

    def __init__(self, problem: Problem, parameters: Sequence[nn.Parameter], *, without: Collection[str] = ()) -> None:
        super().__init__(problem, parameters)
        narrow = torch.bfloat16 if problem.precision == "bf16" else None
        self.tape = make_tape(problem.network, norms=problem.norms, narrow=narrow, without=without)
        self.captures = self.parameters[0].is_cuda
        self.room: Room | None = None
        self.captured: dict[tuple[int, torch.Size], Captured] = {}

    @torch.no_grad()
    def add(self, directions: Directions, images: Tensor, targets: Tensor) -> None:
        if not self.captures:
            self._add(directions, images, targets)
            return
        known = directions.count, images.shape
        if known not in self.captured:
            self.captured[known] = self._capture(directions, images, targets)
        captured = self.captured[known]
        captured.images.copy_(images)
        captured.targets.copy_(targets)
        captured.replay()

    def _add(self, directions: Directions, images: Tensor, targets: Tensor) -> None:
        outputs = self.tape.forward(Dual(images, None), directions)
        assert outputs.tangents is not None
        gradient, moved = differentiate_losses(self.problem.losses, outputs.map, targets, outputs.tangents)
        self.tape.backward(Dual(gradient if self.problem.matrix == "hessian" else None, moved), directions)

    def _capture(self, directions: Directions, images: Tensor, targets: Tensor) -> Captured:
        places, before = (images.clone(), targets.clone()), directions.found.clone()
        self.room = self.room or Room(images.device)
        replay = capture(lambda: self._add(directions, *places), device=images.device, room=self.room)
        directions.found.copy_(before)  # rehearsals have added to it
        return Captured(*places, replay)
