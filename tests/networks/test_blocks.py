"""One block at a time; options A, B, C and the gate."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from reslab.networks.blocks import Block, Gate, ZeroPadding, make_shortcut
from reslab.networks.layers import Conv2d
from reslab.spec import NetworkSpec, cifar, imagenet
from reslab.spec.families import wide


def first_block(spec: NetworkSpec, *, stride: int = 1) -> Block:
    return Block(spec, next(plan for plan in spec.layout() if plan.stride == stride and plan.name != "conv2_1"))


@pytest.mark.parametrize("spec", [cifar(20), imagenet(50)], ids=["basic", "bottleneck"])
def test_a_zero_branch_makes_an_identity(spec: NetworkSpec) -> None:
    """With the last batch norm zero, an identity block returns x for x >= 0."""
    block = first_block(spec)
    assert block.last_norm is not None
    for parameter in block.last_norm.parameters():
        torch.nn.init.zeros_(parameter)
    x = torch.randn(2, block.layers[0].conv.in_channels, 8, 8).relu()
    assert torch.equal(block(x), x)


def test_cost_of_the_two_designs() -> None:
    """Fig. 5: 73,728 weights on the left, 69,632 on the right, 65,536 more with a projection."""
    left = first_block(cifar_like(64, block="basic"))
    right = first_block(cifar_like(64, block="bottleneck"))
    projected = first_block(cifar_like(64, block="bottleneck", shortcut="C"))

    def kernels(block: Block) -> int:
        return sum(parameter.numel() for parameter in block.parameters() if parameter.dim() == 4)

    assert (kernels(left), kernels(right), kernels(projected) - kernels(right)) == (73_728, 69_632, 65_536)


def cifar_like(width: int, **overrides: object) -> NetworkSpec:
    spec = imagenet(34)
    return replace(spec, stages=(replace(spec.stages[0], width=width),), **overrides)


def test_the_final_relu_follows_the_addition() -> None:
    """In post order the output is never negative; with ReLU before the addition it can be."""
    x = torch.randn(4, 16, 8, 8)
    assert first_block(cifar(20))(x).min() >= 0
    assert first_block(replace(cifar(20), order="relu-before-addition"))(x).min() < 0


def test_the_input_is_left_alone() -> None:
    """In-place operators work on the block's own tensors only."""
    for order in ("post", "pre", "bn-after-addition", "relu-before-addition"):
        for norm in ("batch", "group", "none"):
            if order == "bn-after-addition" and norm == "none":
                continue
            for shortcut in ("A", "C"):
                block = first_block(replace(cifar(20), order=order, norm=norm, shortcut=shortcut))
                x = torch.randn(2, 16, 8, 8)
                before = x.clone()
                block(x)
                assert torch.equal(x, before), (order, norm, shortcut)


def test_stochastic_depth_drops_whole_branches() -> None:
    """In training a sample's branch is there, scaled, or not; in evaluation it is always there."""
    spec = replace(cifar(8), stochastic_depth=0.5)
    block = Block(spec, list(spec.layout())[-1])
    x = torch.randn(64, 64, 4, 4).relu()
    block.shortcut = torch.nn.Identity()
    block.layers[0].conv = torch.nn.Conv2d(64, 64, 3, padding=1)
    unchanged = (block(x) == x).flatten(1).all(1)
    assert 10 < unchanged.sum() < 54
    block.eval()
    assert not (block(x) == x).flatten(1).all(1).any()


class Wide(nn.Module):
    """A block of a wide residual network that keeps its dimensions, as its authors have it; or dropout too early."""

    def __init__(self, width: int, *, early: bool) -> None:
        super().__init__()
        early_dropout, dropout = (nn.Dropout(0.3) if here else nn.Identity() for here in (early, not early))
        self.branch = nn.Sequential(
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            early_dropout,
            nn.BatchNorm2d(width),
            nn.ReLU(),
            dropout,
            nn.Conv2d(width, width, 3, padding=1, bias=False),
        )

    def forward(self, x: Tensor) -> Tensor:
        return x + self.branch(x)


@pytest.mark.parametrize("revision", [1, 2])
def test_preactivated_blocks_drop_as_wide_residual_networks_do(revision: int) -> None:
    """To the bit, gradients included; by the first revision as before, with dropout ahead of the last norm."""
    block = first_block(replace(wide(16, 1), dropout=0.3, pre_revision=revision))
    theirs = Wide(16, early=revision == 1)
    names = dict(zip(block.state_dict(), theirs.state_dict(), strict=True))
    theirs.load_state_dict({names[name]: tensor for name, tensor in block.state_dict().items()})
    x = torch.randn(4, 16, 8, 8)
    outputs = []
    for module in (block, theirs):
        torch.manual_seed(1)
        y = module(x)
        y.square().sum().backward()
        outputs.append(y)
    assert torch.equal(*outputs)
    for one, other in zip(block.parameters(), theirs.parameters(), strict=True):
        assert one.grad is not None
        assert other.grad is not None
        assert torch.equal(one.grad, other.grad)


@pytest.mark.parametrize("name", ["conv2_1", "conv2_2", "conv3_1"])
def test_what_is_dropped_reaches_the_last_convolution_as_zero(name: str) -> None:
    """And nothing else, where ReLU lets all through."""
    spec = replace(wide(16, 1), dropout=0.3)
    block = Block(spec, next(plan for plan in spec.layout() if plan.name == name))
    last = block.layers[-1]
    nn.init.constant_(last.get_parameter("norm.bias"), 9.0)
    seen: list[Tensor] = []
    last.get_submodule("conv").register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    x = torch.randn(8, 16, 8, 8)
    torch.manual_seed(1)
    block(x)
    torch.manual_seed(1)
    assert torch.equal(seen[0] != 0, torch.empty_like(seen[0]).bernoulli_(0.7).bool())


@pytest.mark.parametrize("revision", [1, 2])
def test_a_projection_sees_what_the_branch_sees(revision: int) -> None:
    """In pre-activation: x normalized and activated (He et al., 2016, Identity Mappings); once it was x as it is."""
    block = first_block(replace(cifar(20), order="pre", shortcut="C", pre_revision=revision))
    seen: list[Tensor] = []
    for name in ("layers.0.conv", "shortcut.conv"):
        block.get_submodule(name).register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    x = torch.randn(4, 16, 8, 8)
    block(x)
    branch, projection = seen
    assert torch.equal(projection, x if revision == 1 else branch)
    assert branch.min() == 0


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
