"""What stands beside a residual branch: the shortcut (options A, B, C of the paper) and the gate.

Option A at a change of size is ``[x[:, :, ::2, ::2], 0]``: strided identity, the new channels exact zeros.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from reslab.networks.layers import Layer, make_convolution, make_norm
from reslab.spec.network import BlockPlan, NetworkSpec


class ZeroPadding(nn.Module):
    """Option A where dimensions change: subsample, then pad the channels with zeros (after, or on both sides)."""

    def __init__(self, *, stride: int, before: int, after: int, dimensions: int) -> None:
        super().__init__()
        self.steps = (slice(None), slice(None), *[slice(None, None, stride)] * dimensions)
        self.padding = (*[0, 0] * dimensions, before, after)

    def forward(self, x: Tensor) -> Tensor:
        return F.pad(x[self.steps], self.padding)


class Gate(nn.Module):
    """T(x) of a gated shortcut: y = F(x) T(x) + shortcut(x) (1 - T(x)), opened little at first (bias -2)."""

    def __init__(self, plan: BlockPlan, dimensions: int) -> None:
        super().__init__()
        self.conv = make_convolution(dimensions, plan.in_width, plan.out_width, kernel=1, stride=plan.stride, bias=True)

    def forward(self, x: Tensor, residual: Tensor, shortcut: Tensor) -> Tensor:
        # Not lerp: under autocast the three may differ in precision.
        return shortcut + self.conv(x).sigmoid() * (residual - shortcut)


def make_shortcut(spec: NetworkSpec, plan: BlockPlan) -> nn.Module | None:
    """Make the shortcut of one block, or None for a plain block."""
    if plan.shortcut == "none":
        return None
    if plan.shortcut == "identity":
        return nn.Identity()
    if plan.shortcut == "zero-padding":
        extra = plan.out_width - plan.in_width
        before = extra // 2 if spec.zero_padding == "both" else 0
        return ZeroPadding(stride=plan.stride, before=before, after=extra - before, dimensions=spec.dimensions)
    conv = make_convolution(
        spec.dimensions,
        plan.in_width,
        plan.out_width,
        kernel=1,
        stride=plan.stride,
        bias=spec.norm == "none",
    )
    if spec.norm == "none" or spec.order == "pre":
        return Layer({"conv": conv})
    return Layer({"conv": conv, "norm": make_norm(spec.norm, plan.out_width, spec.dimensions)})
