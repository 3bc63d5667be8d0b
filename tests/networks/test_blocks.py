"""One block at a time."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from reslab.networks.blocks import Block
from reslab.spec import NetworkSpec, cifar, imagenet


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
            block = first_block(replace(cifar(20), order=order, norm=norm))
            x = torch.randn(2, 16, 8, 8)
            before = x.clone()
            block(x)
            assert torch.equal(x, before), (order, norm)


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
