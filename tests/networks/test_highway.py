"""Highway networks against the authors' layout."""

from __future__ import annotations

import torch
from torch import nn

from reslab.networks import create_model
from reslab.networks.highway import HighwayLayer


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
