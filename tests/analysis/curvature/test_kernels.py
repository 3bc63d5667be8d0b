"""A convolution and its normalization as one convolution, against torch's derivatives of the two."""

from __future__ import annotations

import pytest
import torch
from tests.analysis.curvature.problems import check_operator, draw
from torch import nn

from reslab.analysis.curvature.kernels import Kernels, NormalizedKernels
from reslab.analysis.curvature.operators import Convolution
from reslab.analysis.curvature.tangents import Directions
from reslab.networks.layers import FrozenBatchNorm


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_kernels_with_a_normalization(bias: bool, frozen: bool) -> None:
    """Whose weight and bias are parameters, or constants; the convolution may have a bias before it."""
    norm = nn.BatchNorm2d(3).double()
    for tensor, low in ((norm.weight, 0.5), (norm.running_var, 0.5), (norm.bias, -1), (norm.running_mean, -1)):
        nn.init.uniform_(tensor, low, 1.5)  # pyright: ignore[reportArgumentType]
    after = FrozenBatchNorm.of(norm) if frozen else norm
    convolution = nn.Conv2d(2, 3, 3, padding=1, bias=bias).double()
    module = nn.Sequential(convolution, after).eval()
    check_operator(Convolution(convolution, NormalizedKernels(convolution, after)), module, (4, 2, 5, 5))


def test_kernels_that_do_not_move_are_convolved_with_once() -> None:
    """Those of other parameters' products."""
    convolution = nn.Conv2d(2, 3, 3).double()
    directions = Directions([nn.Parameter(draw((4,), 0))], 2)
    for kernels in (Kernels(convolution), NormalizedKernels(convolution, nn.BatchNorm2d(3).double())):
        assert kernels.find(directions).moved is None
    assert torch.equal(Kernels(convolution).find(directions).weight, convolution.weight)
