"""The constructed solution (paper, section 1): a deeper network that computes what a shallower one does.

A residual block becomes the identity by zeroing the normalization that ends its branch. A plain block has no such
switch: it needs exact identity kernels and a normalization that does nothing, which only holds in evaluation.
"""

import torch
from torch import nn

from reslab.errors import UserError
from reslab.networks.blocks import Block
from reslab.networks.build import build
from reslab.networks.resnet import ResidualNetwork
from reslab.spec import NetworkSpec, name_of
from reslab.spec.catalogue import contradictions


def deepen(shallow: ResidualNetwork, spec: NetworkSpec) -> ResidualNetwork:
    """Build `spec`, deeper than `shallow` but as wide, from its weights, so that both compute the same function."""
    _refuse(shallow.spec, spec)
    deeper = build(spec)
    assert isinstance(deeper, ResidualNetwork)
    deeper.load_state_dict(deeper.state_dict() | shallow.state_dict())
    make_identity = _identity_kernels if spec.shortcut == "none" else _zero_residual
    for name, block in deeper.blocks.items():
        assert isinstance(block, Block)
        if name not in shallow.blocks:
            make_identity(block)
    deeper.take_knowledge(shallow)
    return deeper


def _refuse(shallow: NetworkSpec, spec: NetworkSpec) -> None:
    """Refuse a network that is not a deeper twin, and one whose outputs an added block would change."""
    other = [field for field in contradictions(shallow, spec) if not field.endswith(".blocks")]
    if spec.norm != shallow.norm:
        other.append("norm")
    fewer = any(new.blocks < old.blocks for new, old in zip(spec.stages, shallow.stages, strict=False))
    if other or fewer:
        reason = f"{other[0]} differs" if other else "a stage has fewer blocks"
        remedy = "choose a network that differs only in more blocks"
        raise UserError(f"{name_of(spec)} is not a deeper {name_of(shallow)}: {reason}; {remedy}")
    normed = spec.norm in ("batch", "frozen")
    if spec.shortcut == "none":
        possible = normed and (spec.order, spec.maxout, spec.squeeze_excitation) == ("post", 0, 0)
        possible = possible and spec.block != "bottleneck"
        needs = "order=post, norm=batch or frozen, and layers of one width"
    else:
        possible = normed and spec.shortcut in ("A", "B") and spec.operator_order.last[:2] == ("conv", "norm")
        needs = "shortcut=A or B, norm=batch or frozen, and a branch that ends with that normalization"
    if not possible:
        raise UserError(f"a block added to {name_of(spec)} would change its outputs; choose a network with {needs}")


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
