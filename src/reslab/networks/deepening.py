"""The constructed solution (paper, section 1): a deeper network that computes what a shallower one does.

A residual block becomes the identity by zeroing the normalization that ends its branch. A plain block has no such
switch: it needs exact identity kernels and a normalization that does nothing, which only holds in evaluation.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import nn

from reslab.errors import UserError, choices
from reslab.networks.blocks import Block
from reslab.networks.build import build
from reslab.networks.resnet import ResidualNetwork
from reslab.spec import NetworkSpec, name_of
from reslab.spec.material import contradictions

AddedBlocks = Literal["zero-residual", "identity-kernels"]


def deepen(shallow: ResidualNetwork, spec: NetworkSpec, *, added: AddedBlocks = "zero-residual") -> ResidualNetwork:
    """Build `spec`, as wide as `shallow` but deeper, from its weights; the blocks it has more are made by `added`."""
    _refuse(shallow.spec, spec, added)
    deeper = build(spec)
    assert isinstance(deeper, ResidualNetwork)
    deeper.load_state_dict(deeper.state_dict() | shallow.state_dict())
    make_added = {"zero-residual": _zero_residual, "identity-kernels": _identity_kernels}[added]
    for name, block in deeper.blocks.items():
        assert isinstance(block, Block)
        if name not in shallow.blocks:
            make_added(block)
    return deeper


def _refuse(shallow: NetworkSpec, spec: NetworkSpec, added: AddedBlocks) -> None:
    """Refuse what is no deeper twin, and what `added` blocks would not leave unchanged."""
    other = [field for field in contradictions(shallow, spec) if not field.endswith(".blocks")]
    if spec.norm != shallow.norm:
        other.append("norm")
    fewer = any(new.blocks < old.blocks for new, old in zip(spec.stages, shallow.stages, strict=False))
    if other or fewer:
        reason = f"{other[0]} differs" if other else "a stage has fewer blocks"
        raise UserError(f"{name_of(spec)} is not a deeper {name_of(shallow)}: {reason}")
    normed = spec.norm in ("batch", "frozen")
    possible = {
        "zero-residual": normed
        and spec.shortcut in ("none", "A", "B")
        and spec.operator_order.last[:2] == ("conv", "norm"),
        "identity-kernels": normed
        and (spec.shortcut, spec.order, spec.maxout, spec.squeeze_excitation) == ("none", "post", 0, 0)
        and spec.block != "bottleneck",
    }
    if added not in possible:
        raise UserError(f"added is {added!r}; choose {choices(possible)}")
    if not possible[added]:
        needs = {
            "zero-residual": "shortcut=A or B, norm=batch or frozen, and that normalization to end the branch",
            "identity-kernels": "shortcut=none, order=post, norm=batch or frozen, and layers of one width",
        }
        raise UserError(f"added={added} cannot leave {name_of(spec)} unchanged: it needs {needs[added]}")


@torch.no_grad()
def _zero_residual(block: Block) -> None:
    assert block.last_norm is not None
    for name in ("weight", "bias"):
        getattr(block.last_norm, name).zero_()


@torch.no_grad()
def _identity_kernels(block: Block) -> None:
    for layer in block.layers:
        norm = layer.get_submodule("norm")
        nn.init.dirac_(layer.get_parameter("conv.weight"))
        for name, value in (("weight", 1), ("bias", 0), ("running_mean", 0)):
            getattr(norm, name).fill_(value)
        # So that variance + eps is one, and nothing is rounded.
        norm.get_buffer("running_var").fill_(1 - norm.eps)  # pyright: ignore[reportArgumentType, reportOperatorIssue]
