"""Options A, B, C and the gate."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from reslab.networks.layers import Conv2d
from reslab.networks.shortcuts import Gate, ZeroPadding, make_shortcut
from reslab.spec import cifar, imagenet


def plan(name: str, **overrides: object):
    spec = replace(cifar(20), **overrides)
    return spec, next(plan for plan in spec.layout() if plan.name == name)


@pytest.mark.parametrize(("where", "first"), [("after", 0), ("both", 8)])
def test_option_a_is_strided_identity_and_exact_zeros(where: str, first: int) -> None:
    """The old channels are x[:, :, ::2, ::2], the new ones zeros, after or on both sides."""
    shortcut = make_shortcut(*plan("conv3_1", zero_padding=where))
    x = torch.randn(2, 16, 8, 8)
    assert shortcut is not None
    y = shortcut(x)
    assert torch.equal(y[:, first : first + 16], x[:, :, ::2, ::2])
    assert y.count_nonzero() == y[:, first : first + 16].count_nonzero()
    assert not list(shortcut.parameters())


def test_odd_maps_are_subsampled_as_convolutions_do() -> None:
    """Zero padding and a strided convolution agree in size on odd maps."""
    padding = ZeroPadding(stride=2, before=0, after=1, dimensions=2)
    x = torch.randn(1, 3, 7, 9)
    assert padding(x).shape[2:] == nn.Conv2d(3, 4, 3, stride=2, padding=1)(x).shape[2:]


def test_option_b_projects_where_dimensions_change() -> None:
    """A strided 1x1 convolution with normalization there, the identity elsewhere."""
    changing = make_shortcut(*plan("conv3_1", shortcut="B"))
    assert changing is not None
    assert [type(module) for module in changing] == [Conv2d, nn.BatchNorm2d]
    assert (changing.conv.kernel_size, changing.conv.stride) == ((1, 1), (2, 2))
    assert isinstance(make_shortcut(*plan("conv3_2", shortcut="B")), nn.Identity)


def test_a_plain_block_has_none() -> None:
    """No shortcut, not an identity."""
    assert make_shortcut(*plan("conv3_2", shortcut="none")) is None


def test_the_gate_mixes() -> None:
    """T = 1 passes the residual, T = 0 the shortcut; at first it is nearly shut."""
    spec = imagenet(18, shortcut="gated")
    gate = Gate(next(iter(spec.layout())), 2)
    x, residual = torch.randn(1, 64, 4, 4), torch.randn(1, 64, 4, 4)
    for bias, expected in ((50.0, residual), (-50.0, x)):
        nn.init.zeros_(gate.conv.weight)
        nn.init.constant_(gate.conv.bias, bias)
        assert torch.allclose(gate(x, residual, x), expected, atol=1e-6)
    with torch.autocast("cpu", torch.bfloat16):  # the gate is then bfloat16, its operands are not
        assert gate(x, residual, x).dtype == torch.float32
