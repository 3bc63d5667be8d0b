"""Single layers with their tangents, against torch's derivatives of the layer and of its gradient."""

from __future__ import annotations

import pytest
import torch
from tests.analysis.curvature.problems import check_operator, draw
from torch import Tensor, nn

from reslab.analysis.curvature.kernels import Kernels
from reslab.analysis.curvature.operators import Average, Convolution, Linear, Maximum, Rectifier
from reslab.analysis.curvature.tangents import Directions, Dual


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("kernel", "stride"), [(3, 1), (3, 2), (1, 2), (7, 2)])
def test_convolutions(kernel: int, stride: int, bias: bool, count: int) -> None:
    """With and without biases and strides, also where nothing upstream moves."""
    module = nn.Conv2d(2, 3, kernel, stride=stride, padding=kernel // 2, bias=bias).double()
    check_operator(Convolution(module, Kernels(module)), module, (4, 2, 6, 6), count=count)


@pytest.mark.parametrize("bias", [True, False])
def test_linear_layers(bias: bool) -> None:
    """With and without biases."""
    module = nn.Linear(5, 3, bias=bias).double()
    check_operator(Linear(module), module, (4, 5))


class Mean(nn.Module):
    """The global average pool."""

    def forward(self, x: Tensor) -> Tensor:
        return x.mean((2, 3))


@pytest.mark.parametrize(
    ("operator", "module"),
    [
        (Rectifier(), nn.ReLU()),
        (Average(), Mean()),
        *[(Maximum(pool), pool) for pool in (nn.MaxPool2d(3, 2, padding=1), nn.MaxPool2d(3, stride=2, ceil_mode=True))],
    ],
    ids=lambda value: str(value) if isinstance(value, nn.Module) else type(value).__name__,
)
def test_layers_without_weights(operator: Rectifier | Average | Maximum, module: nn.Module) -> None:
    """A ReLU, the average and maxima of windows that overlap."""
    check_operator(operator, module, (4, 2, 6, 6))


def test_what_nothing_moves_in_asks_for_no_gradient() -> None:
    """There is nobody upstream to use it."""
    directions = Directions([nn.Parameter(torch.zeros(1))], 2)
    for operator, shape in ((Rectifier(), (3, 2, 4, 4)), (Average(), (3, 2)), (Maximum(nn.MaxPool2d(2)), (3, 2, 2, 2))):
        assert operator.forward(Dual(draw((3, 2, 4, 4), 0), None), directions).tangents is None
        assert operator.backward(Dual(None, draw((6, *shape[1:]), 1)), directions) is None
