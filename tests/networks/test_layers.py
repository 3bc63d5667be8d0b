"""Normalizations, activations and convolutions in any number of dimensions."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from reslab.networks.layers import FrozenBatchNorm, Maxout, make_convolution, make_norm


@pytest.mark.parametrize(
    ("dimensions", "shape"), [(0, (4, 6)), (1, (4, 6, 5)), (2, (4, 6, 5, 5)), (3, (4, 6, 3, 3, 3))]
)
def test_frozen_batch_norm_is_batch_norm_in_evaluation(dimensions: int, shape: tuple[int, ...]) -> None:
    """It takes the same statistics and affine, has no parameters, and training does not change it."""
    batch = make_norm("batch", 6, dimensions).eval()
    for tensor in batch.state_dict().values():
        if tensor.is_floating_point():
            tensor.uniform_(0.5, 1.5)
    frozen = FrozenBatchNorm(6)
    frozen.load_state_dict({name: tensor for name, tensor in batch.state_dict().items() if "num" not in name})
    x = torch.randn(shape)
    assert torch.equal(frozen.train()(x), batch(x))
    assert not list(frozen.parameters())


def test_maxout_takes_the_largest_piece() -> None:
    """Six channels in pieces of three are two."""
    x = torch.tensor([[1.0, 5.0, 2.0, -1.0, -3.0, -2.0]])
    assert Maxout(3)(x).tolist() == [[5.0, -1.0]]


@pytest.mark.parametrize(("width", "groups"), [(16, 8), (64, 32), (96, 32), (256, 32), (1, 1), (5, 1), (32, 16)])
def test_groups_have_at_least_two_channels(width: int, groups: int) -> None:
    """32 groups where there is room."""
    norm = make_norm("group", width, 2)
    assert isinstance(norm, nn.GroupNorm)
    assert norm.num_groups == groups


def test_a_convolution_over_nothing_is_fully_connected() -> None:
    """Zero dimensions give a linear layer."""
    assert isinstance(make_convolution(0, 3, 4, kernel=3), nn.Linear)


@pytest.mark.parametrize("shape", [(1,), (1, 1), (4, 1), (1, 4), (2, 1, 1)], ids=str)
def test_kernels_learn_alike_in_bfloat16_whatever_the_map(shape: tuple[int, ...]) -> None:
    """Also from maps a pixel wide, for which torch's own gradient is not even the same twice."""
    convolution = make_convolution(len(shape), 64, 64, kernel=3, stride=2).bfloat16()
    x = torch.randn(16, 64, *shape).bfloat16()
    (weight,) = convolution.parameters()
    exact = getattr(nn, f"Conv{len(shape)}d")(64, 64, 3, stride=2, padding=1, bias=False)
    exact.weight.data.copy_(weight)
    for _ in range(3):
        weight.grad = exact.weight.grad = None
        y = convolution(x)
        incoming = torch.randn_like(y)
        y.backward(incoming)
        exact(x.float()).backward(incoming.float())
        torch.testing.assert_close(weight.grad.float(), exact.weight.grad, rtol=0.05, atol=0.05)
