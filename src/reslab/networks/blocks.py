"""One block: y = F(x) + shortcut(x), with F of one, two or three layers (paper, Figs. 2 and 5).

The shortcut is option A, B or C. Option A at a change of size is ``[x[:, :, ::2, ::2], 0]``: strided identity, the new
channels exact zeros.
"""

from torch import Tensor, nn
from torch.nn import functional as F

from reslab.networks.dropout import StochasticDepth
from reslab.networks.layers import Layer, Observer, make_convolution, make_layer, make_norm_activation
from reslab.spec.network import BlockPlan, LayerPlan, NetworkSpec


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


class SqueezeExcitation(nn.Module):
    """Scale each channel by what the whole map says of it (Hu et al., 2018), in any number of dimensions."""

    def __init__(self, width: int, reduction: int, dimensions: int) -> None:
        super().__init__()
        inner = max(1, width // reduction)
        self.spatial = tuple(range(2, 2 + dimensions))
        self.scale = nn.Sequential(
            make_convolution(dimensions, width, inner, kernel=1, bias=True),
            nn.ReLU(inplace=True),
            make_convolution(dimensions, inner, width, kernel=1, bias=True),
            nn.Sigmoid(),
        )

    def forward(self, x: Tensor) -> Tensor:
        squeezed = x.mean(self.spatial, keepdim=True) if self.spatial else x
        return x * self.scale(squeezed)


class Block(nn.Module):
    """A plain or residual block as its plan says."""

    def __init__(self, spec: NetworkSpec, plan: BlockPlan) -> None:
        super().__init__()
        self.name = plan.name
        self.preactivation = make_norm_activation(spec, plan.in_width) if plan.shares_preactivation else None
        self.layers = nn.ModuleList(make_layer(spec, layer_plan) for layer_plan in plan.layers)
        self.excitation = None
        if spec.squeeze_excitation:
            self.excitation = SqueezeExcitation(plan.out_width, spec.squeeze_excitation, spec.dimensions)
        self.stochastic_depth = StochasticDepth(plan.drop_rate) if plan.drop_rate else None
        self.shortcut = make_shortcut(spec, plan)
        self.passes_input = plan.shortcut == "identity"
        self.gate = Gate(plan, spec.dimensions) if plan.gated else None
        self.after = _make_after(spec, plan)
        # ReLU needs its own output for the backward pass; convolution and normalization do not need theirs.
        self.adds_in_place = spec.operator_order.last[-1] != "activation"

    def forward(self, x: Tensor, observe: Observer | None = None) -> Tensor:
        if self.preactivation is not None:
            x = self.preactivation(x)
        residual = self.residual(x, observe)
        y = residual if self.shortcut is None else self.merge(x, residual)
        y = self.after(y)
        if observe:
            observe(self.name, y)
        return y

    def residual(self, x: Tensor, observe: Observer | None = None) -> Tensor:
        """F(x), the residual function."""
        for number, layer in enumerate(self.layers, start=1):
            x = layer(x, observe, f"{self.name}.response_{number}")
        if self.excitation is not None:
            x = self.excitation(x)
        if self.stochastic_depth is not None:
            x = self.stochastic_depth(x)
        return x

    def merge(self, x: Tensor, residual: Tensor) -> Tensor:
        """Join the residual with the shortcut."""
        assert self.shortcut is not None
        shortcut = x if self.passes_input else self.shortcut(x)
        if self.gate is not None:
            return self.gate(x, residual, shortcut)
        return residual.add_(shortcut) if self.adds_in_place else residual + shortcut

    @property
    def last_norm(self) -> nn.Module | None:
        """The normalization that ends F, where there is one: zero there makes the block an identity."""
        last = self.layers[-1]
        assert isinstance(last, Layer)
        return last.get_submodule("norm") if last.responds_at == "norm" else None


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
    operators = ("conv",) if spec.order == "pre" else ("conv", "norm")
    projection = LayerPlan(
        in_width=plan.in_width, out_width=plan.out_width, kernel=1, stride=plan.stride, operators=operators
    )
    return make_layer(spec, projection)


def _make_after(spec: NetworkSpec, plan: BlockPlan) -> nn.Module:
    match spec.operator_order.after:
        case ():
            return nn.Identity()
        case ("activation",):
            return nn.ReLU(inplace=True)
        case _:
            return make_norm_activation(spec, plan.out_width)
