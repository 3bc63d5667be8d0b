"""How operators join: one after the other, and around a block by its shortcut."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from reslab.analysis.curvature.operators import Operator
from reslab.analysis.curvature.tangents import Directions, Dual, empty_map
from reslab.networks.blocks import ZeroPadding


class Chain(Operator):
    """Operators one after the other; none at all pass on what they are given."""

    def __init__(self, steps: Sequence[Operator]) -> None:
        self.steps = steps

    def forward(self, x: Dual, directions: Directions) -> Dual:
        for step in self.steps:
            x = step.forward(x, directions)
        return x

    def backward(self, gradient: Dual, directions: Directions) -> Dual | None:
        back: Dual | None = gradient
        for step in reversed(self.steps):
            if back is None:
                return None
            back = step.backward(back, directions)
        return back


class Block(Operator):
    """y = after(F(x) + shortcut(x)), of x after what the two share; without a shortcut, y = after(F(x))."""

    def __init__(self, *, before: Operator, residual: Operator, shortcut: Operator | None, after: Operator) -> None:
        self.before, self.residual, self.shortcut, self.after = before, residual, shortcut, after

    def forward(self, x: Dual, directions: Directions) -> Dual:
        x = self.before.forward(x, directions)
        y = self.residual.forward(x, directions)
        if self.shortcut is not None:
            y = _add(y, self.shortcut.forward(x, directions))
        return self.after.forward(y, directions)

    def backward(self, gradient: Dual, directions: Directions) -> Dual | None:
        joined = self.after.backward(gradient, directions)
        if joined is None:
            return None
        back = self.residual.backward(joined, directions)
        if self.shortcut is not None:
            around = self.shortcut.backward(joined, directions)
            back = around if back is None else back if around is None else _add(back, around)
        return None if back is None else self.before.backward(back, directions)


class Padding(Operator):
    """Option A where dimensions change: every other place, and channels of zeros."""

    def __init__(self, module: ZeroPadding) -> None:
        self.module, self.before = module, module.padding[-2]
        self.kept: tuple[torch.Size, bool] | None = None

    def forward(self, x: Dual, directions: Directions) -> Dual:
        self.kept = x.map.shape, x.tangents is not None
        return Dual(*[None if part is None else self.module(part) for part in x])

    def backward(self, gradient: Dual, directions: Directions) -> Dual | None:
        assert self.kept is not None
        (shape, asked), self.kept = self.kept, None
        return Dual(*[None if part is None else self._return(part, shape) for part in gradient]) if asked else None

    def _return(self, gradient: Tensor, shape: torch.Size) -> Tensor:
        entered = empty_map((len(gradient), *shape[1:]), like=gradient).zero_()
        entered[self.module.steps] = gradient[:, self.before : self.before + shape[1]]
        return entered


def _add(first: Dual, second: Dual) -> Dual:
    return Dual(*[_sum(*parts) for parts in zip(first, second, strict=True)])


def _sum(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    return second if first is None else first if second is None else first + second
