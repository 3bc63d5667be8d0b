"""The constructed solution (paper, section 1): a deeper network that computes what a shallower one does.

A residual block becomes the identity by zeroing the normalization that ends its branch. A plain block has no such
switch: it needs exact identity kernels and a normalization that does nothing, which only holds in evaluation.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import nn

from reslab.errors import UserError
from reslab.networks.blocks import Block
from reslab.networks.build import build
from reslab.networks.resnet import ResidualNetwork
from reslab.spec import NetworkSpec, name_of
from reslab.spec.material import contradictions

AddedBlocks = Literal["zero-residual", "identity-kernels"]


def deepen(shallow: ResidualNetwork, spec: NetworkSpec, *, added: AddedBlocks = "zero-residual") -> ResidualNetwork:
    """Build `spec`, as wide as `shallow` but deeper, from its weights; the blocks it has more are made by `added`."""
    other = [field for field in contradictions(shallow.spec, spec) if not field.endswith(".blocks")]
    fewer = any(new.blocks < old.blocks for new, old in zip(spec.stages, shallow.spec.stages, strict=False))
    if other or fewer:
        reason = f"{other[0]} differs" if other else "a stage has fewer blocks"
        raise UserError(f"{name_of(spec)} is not a deeper {name_of(shallow.spec)}: {reason}")
    deeper = build(spec)
    assert isinstance(deeper, ResidualNetwork)
    deeper.load_state_dict(deeper.state_dict() | shallow.state_dict())
    for name, block in deeper.blocks.items():
        assert isinstance(block, Block)
        if name not in shallow.blocks:
            _zero_residual(block) if added == "zero-residual" else _identity_kernels(block)
    return deeper


@torch.no_grad()
def _zero_residual(block: Block) -> None:
    if block.last_norm is None:
        raise UserError(
            f"{block.name} has no normalization at the end of its branch to zero: use norm=batch, order=post"
        )
    for parameter in block.last_norm.parameters():
        parameter.zero_()


@torch.no_grad()
def _identity_kernels(block: Block) -> None:
    for layer in block.layers:
        norm = layer.get_submodule("norm")
        assert isinstance(norm, nn.modules.batchnorm._BatchNorm)
        nn.init.dirac_(layer.get_parameter("conv.weight"))
        norm.reset_parameters()
        assert norm.running_var is not None
        norm.running_var.fill_(1 - norm.eps)  # so that variance + eps is one, and nothing is rounded
