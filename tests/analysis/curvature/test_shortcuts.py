"""Operators one after the other and around a block, against torch's derivatives of the modules."""

from __future__ import annotations

import pytest
from tests.analysis.curvature.problems import check_operator, draw
from torch import Tensor, nn

from reslab.analysis.curvature.kernels import Kernels
from reslab.analysis.curvature.operators import Convolution, Rectifier
from reslab.analysis.curvature.shortcuts import Block, Chain, Padding
from reslab.analysis.curvature.tangents import Directions, Dual
from reslab.networks.blocks import ZeroPadding


class Residual(nn.Module):
    """ReLU(F(relu(x)) + the shortcut of relu(x)), where there is one."""

    def __init__(self, shortcut: nn.Module | None) -> None:
        super().__init__()
        self.residual, self.shortcut = nn.Conv2d(2, 4, 3, stride=2, padding=1), shortcut

    def forward(self, x: Tensor) -> Tensor:
        x = x.relu()
        return (self.residual(x) + (0 if self.shortcut is None else self.shortcut(x))).relu()


@pytest.mark.parametrize("kind", ["padding", "projection", "plain"])
def test_blocks(kind: str) -> None:
    """With a shortcut that pads, one that projects, and none."""
    padding, projection = ZeroPadding(stride=2, before=1, after=1, dimensions=2), nn.Conv2d(2, 4, 1, stride=2)
    module = Residual({"padding": padding, "projection": projection}.get(kind)).double()
    shortcuts = {"padding": Padding(padding), "projection": Convolution(projection, Kernels(projection))}
    operator = Block(
        before=Rectifier(),
        residual=Convolution(module.residual, Kernels(module.residual)),
        shortcut=shortcuts.get(kind),
        after=Rectifier(),
    )
    check_operator(operator, module, (3, 2, 6, 6))


@pytest.mark.parametrize("before", [0, 2])
def test_padding(before: int) -> None:
    """Of the channels on one side or on both, at odd sizes too."""
    module = ZeroPadding(stride=2, before=before, after=1, dimensions=2)
    check_operator(Padding(module), module, (3, 2, 5, 6))


def test_an_empty_chain_passes_everything_on() -> None:
    """Forward and back."""
    directions, dual = Directions([nn.Parameter(draw((1,), 0))], 1), Dual(draw((2, 3), 1), draw((2, 3), 2))
    assert Chain([]).forward(dual, directions) is dual
    assert Chain([]).backward(dual, directions) is dual
