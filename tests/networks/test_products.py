"""Convolutions as matrix products give what convolutions give."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from reslab.networks import Network, create_model
from reslab.networks.folding import fold
from reslab.networks.products import PRODUCTS, AsProducts


@pytest.mark.parametrize(
    "layer",
    [
        nn.Conv2d(6, 4, 3, padding=1),
        nn.Conv2d(6, 4, 3, stride=2, padding=1, bias=False),
        nn.Conv2d(6, 4, 1, stride=2),
        nn.Conv2d(6, 4, (7, 5), stride=(2, 1), padding=(3, 2)),
        nn.Conv2d(6, 4, 3, dilation=2),
        nn.Conv2d(6, 4, 3, groups=2),
        nn.Conv2d(6, 4, 3, padding="same"),
    ],
)
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@torch.no_grad()
def test_products_are_convolutions(layer: nn.Conv2d, layout: torch.memory_format) -> None:
    """Of any kernel, stride and layout; what is dilated, in groups, or padded by a word is left to others."""
    layer = layer.double().to(memory_format=layout)  # pyright: ignore[reportCallIssue]
    x = torch.randn(2, 6, 13, 10, dtype=torch.float64).contiguous(memory_format=layout)
    with AsProducts():
        found = layer(x)
    assert found.shape == layer(x).shape
    assert torch.allclose(found, layer(x))


@torch.no_grad()
def test_what_cudnn_joins_is_joined() -> None:
    """Bias, what is added, ReLU: as cuDNN's kernels are asked for them."""
    conv = nn.Conv2d(6, 4, 3, padding=1)
    x, added = torch.randn(2, 6, 9, 8), torch.randn(2, 4, 9, 8)
    how = (conv.stride, conv.padding, conv.dilation, conv.groups)
    alone = PRODUCTS[torch.cudnn_convolution_relu][0](x, conv.weight, conv.bias, *how)
    assert torch.allclose(alone, conv(x).relu(), atol=1e-5)
    joined = PRODUCTS[torch.cudnn_convolution_add_relu][0](x, conv.weight, added, 2.0, conv.bias, *how)
    assert torch.allclose(joined, (conv(x) + 2 * added).relu(), atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("change", [fold, lambda network: network])
def test_a_network_gives_the_same_inside(change: Callable[[Network], Network], monkeypatch: pytest.MonkeyPatch) -> None:
    """And no convolution of it is left to others."""
    network = change(create_model("resnet-50", classes=5, input_size=64).eval())
    x = torch.randn(2, 3, 70, 53)
    expected = network(x)
    product, first = PRODUCTS[torch.conv2d]
    done: list[int] = []
    monkeypatch.setitem(PRODUCTS, torch.conv2d, (lambda *args: done.append(1) or product(*args), first))
    with AsProducts():
        found = network(x)
    assert torch.allclose(found, expected, atol=1e-4)
    assert len(done) == 53
