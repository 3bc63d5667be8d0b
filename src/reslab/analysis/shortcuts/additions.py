"""A forward pass that keeps both terms of every addition, and the ways by which gradients go back through each.

With a gate T the terms are F(x) T(x) and shortcut(x) (1 - T(x)), and a third way back leads through the gate itself.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from reslab.analysis.anatomy import Anatomy, Part
from reslab.errors import UserError
from reslab.networks.blocks import Block
from reslab.networks.comparators import HighwayLayer


@dataclass(frozen=True)
class Addition:
    """Both terms of one addition, the input as each way takes it, and how far the gate is open, where there is one."""

    shortcut: Tensor
    branch: Tensor
    ways: tuple[Tensor, ...]
    gate: Tensor | None = None


def trace_additions(anatomy: Anatomy, images: Tensor) -> tuple[list[Addition], Tensor]:
    """Return the additions of a forward pass in their order, with gradients to come, and the logits."""
    # So that there is a gradient at the first block, whatever of the network is trained.
    x = anatomy.before(images.detach().requires_grad_())
    additions = []
    for index, part in enumerate(anatomy.parts):
        addition, x = _add(part, anatomy.enter(index, x))
        additions.append(addition)
    return additions, anatomy.after(x)


def _add(part: Part, x: Tensor) -> tuple[Addition, Tensor]:
    match part.module:
        case Block() as block if block.shortcut is not None:
            if block.preactivation is not None:
                x = block.preactivation(x)
            through, around, opening = x.view_as(x), x.view_as(x), x.view_as(x)
            residual, shortcut = block.residual(through), block.shortcut(around)
            if block.gate is None:
                addition = Addition(shortcut, residual, (around, through))
            else:
                gate = block.gate.conv(opening).sigmoid()
                addition = Addition(shortcut * (1 - gate), residual * gate, (around, through, opening), gate)
            return addition, block.after(addition.shortcut + addition.branch)
        case HighwayLayer() as layer:
            through, around, opening = x.view_as(x), x.view_as(x), x.view_as(x)
            gate = layer.gate(opening).sigmoid()
            addition = Addition(
                around * (1 - gate), layer.transform(through).relu() * gate, (around, through, opening), gate
            )
            return addition, addition.shortcut + addition.branch
        case _:
            raise UserError(f"{part.name} has no shortcut; choose a residual network or a Highway network")


def find_gradients(additions: list[Addition], losses: Tensor) -> list[tuple[Tensor, ...]]:
    """Return for each addition the gradients of the images' losses by each way back to its block's input."""
    ways = [way for addition in additions for way in addition.ways]
    gradients = iter(torch.autograd.grad(losses.sum(), ways))
    return [tuple(next(gradients) for _ in addition.ways) for addition in additions]
