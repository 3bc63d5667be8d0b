"""Highway networks against the authors' layout, and LeNet-5."""

from __future__ import annotations

import torch
from torch import nn

from reslab.networks import create_model
from reslab.networks.comparators import HighwayLayer


def test_layout_of_highway_19() -> None:
    """32, 80 and 128 wide with 4, 5 and 5 gated layers, a neck of 100, pools between."""
    network = create_model("highway-19").eval()
    x = torch.randn(1, 3, 32, 32)
    seen = network.activations(x)
    assert seen["highway1_4"].shape == (1, 32, 32, 32)
    assert seen["highway2_5"].shape == (1, 80, 16, 16)
    assert seen["highway3_5"].shape == (1, 128, 8, 8)
    assert seen["neck"].shape == (1, 100, 8, 8)
    assert torch.equal(seen["logits"], network(x))
    assert not [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]


def test_a_highway_layer_is_the_formula() -> None:
    """y = H T + x (1 - T)."""
    layer = HighwayLayer(4)
    x = torch.randn(2, 4, 5, 5)
    h, t = layer.transform(x).relu(), layer.gate(x).sigmoid()
    assert torch.allclose(layer(x), h * t + x * (1 - t), atol=1e-6)


def test_highway_32_has_the_published_size() -> None:
    """1.25M parameters."""
    size = sum(parameter.numel() for parameter in create_model("highway-32").parameters())
    assert round(size / 1e6, 2) == 1.25


def test_shapes_are_those_of_1998() -> None:
    """C1 6@28, S2 6@14, C3 16@10, S4 16@5, C5 120, F6 84."""
    seen = create_model("lenet-5").activations(torch.randn(1, 1, 32, 32))
    shapes = [tuple(tensor.shape[1:]) for tensor in seen.values()]
    assert shapes == [(6, 28, 28), (6, 14, 14), (16, 10, 10), (16, 5, 5), (120, 1, 1), (120,), (84,), (10,)]


def test_colour_and_larger_images_pass() -> None:
    """Other channels and sizes are allowed."""
    network = create_model("lenet-5", in_chans=3, input_size=48)
    assert network(torch.randn(2, 3, 48, 48)).shape == (2, 10)
