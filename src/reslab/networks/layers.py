"""The weight layers: a convolution with its normalization and activation, in 0 to 3 spatial dimensions."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from reslab.networks.dropout import Dropout
from reslab.spec.network import LayerPlan, NetworkSpec, Norm

Observer: TypeAlias = Callable[[str, Tensor], None]

BATCH_NORMS = {0: nn.BatchNorm1d, 1: nn.BatchNorm1d, 2: nn.BatchNorm2d, 3: nn.BatchNorm3d}
MAX_POOLS = {1: nn.MaxPool1d, 2: nn.MaxPool2d, 3: nn.MaxPool3d}


class _Strided(nn.modules.conv._ConvNd):
    """A convolution that heeds no stride across a map one pixel wide, where it means nothing.

    With one, oneDNN's bfloat16 gradient of larger kernels there is memory nobody wrote to (torch 2.14 on CPUs).
    """

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        stride = self.stride if input.shape[-1] > 1 else (*self.stride[:-1], 1)
        convolve = (F.conv1d, F.conv2d, F.conv3d)[len(stride) - 1]
        return convolve(input, weight, bias, stride, self.padding)  # pyright: ignore[reportArgumentType]


class Conv1d(_Strided, nn.Conv1d):
    """Over sequences."""


class Conv2d(_Strided, nn.Conv2d):
    """Over images."""


class Conv3d(_Strided, nn.Conv3d):
    """Over volumes."""


CONVOLUTIONS = {1: Conv1d, 2: Conv2d, 3: Conv3d}


class FrozenBatchNorm(nn.Module):
    """Batch normalization with constant statistics and affine: nothing here is trained or updated."""

    weight: Tensor
    bias: Tensor
    running_mean: Tensor
    running_var: Tensor

    def __init__(self, width: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        for name, value in (("weight", 1.0), ("bias", 0.0), ("running_mean", 0.0), ("running_var", 1.0)):
            self.register_buffer(name, torch.full((width,), value))

    @classmethod
    def of(cls, norm: nn.modules.batchnorm._BatchNorm) -> FrozenBatchNorm:
        """Return one that stays what `norm` is; its state has the same names, the counter's included."""
        frozen = cls(norm.num_features, norm.eps)
        for name, tensor in norm.state_dict().items():
            frozen.register_buffer(name, tensor.clone())
        return frozen

    def forward(self, x: Tensor) -> Tensor:
        return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)

    def follow(self, conv: nn.Conv2d, x: Tensor) -> Tensor:
        """Return what it makes of a convolution of `x`: as both are linear, they are one convolution."""
        scale = self.weight * (self.running_var + self.eps).rsqrt()
        shift = self.bias - self.running_mean * scale
        bias = shift if conv.bias is None else shift + conv.bias * scale
        assert not isinstance(conv.padding, str)
        return F.conv2d(x, conv.weight * scale[:, None, None, None], bias, conv.stride, conv.padding)


class Maxout(nn.Module):
    """The largest of several linear pieces a channel (Goodfellow et al., 2013)."""

    def __init__(self, pieces: int) -> None:
        super().__init__()
        self.pieces = pieces

    def forward(self, x: Tensor) -> Tensor:
        return x.unflatten(1, (-1, self.pieces)).amax(2)


class Layer(nn.Sequential):
    """Convolution, normalization, activation and dropout in the order asked for.

    Its *response* (paper, Fig. 7) is what leaves the convolution and its normalization, before the
    nonlinearity or the addition. A convolution of images and a constant normalization after it are computed as one.
    """

    def __init__(self, operators: Mapping[str, nn.Module]) -> None:
        super().__init__(OrderedDict(operators))
        self.operators = tuple(operators)
        self.responds_at = "norm" if "norm" in self.operators[self.operators.index("conv") :] else "conv"

    def forward(self, input: Tensor, observe: Observer | None = None, name: str = "") -> Tensor:
        x, conv = input, None
        for operator, module in zip(self.operators, self, strict=True):
            if operator == "conv" and isinstance(module, nn.Conv2d) and self._is_constant:
                conv = module
                continue
            if conv is not None:
                assert isinstance(module, FrozenBatchNorm)
                x, conv = module.follow(conv, x), None
            else:
                x = module(x)
            if operator == self.responds_at and observe is not None:
                observe(name, x.clone())  # the activation works in place
        return x

    @property
    def _is_constant(self) -> bool:
        """Whether a constant normalization stands right after the convolution."""
        after = self.operators.index("conv") + 1
        return after < len(self.operators) and isinstance(self[after], FrozenBatchNorm)


def make_layer(spec: NetworkSpec, plan: LayerPlan, *, bias: bool = False) -> Layer:
    """Make the layer a plan describes; a convolution without normalization has a bias in its stead."""
    pieces = max(1, spec.maxout) if "activation" in plan.operators else 1
    conv_width = plan.out_width * pieces
    makers: dict[str, Callable[[], nn.Module]] = {
        "conv": lambda: make_convolution(
            spec.dimensions,
            plan.in_width,
            conv_width,
            kernel=plan.kernel,
            stride=plan.stride,
            bias=bias or spec.norm == "none",
        ),
        "norm": lambda: make_norm(spec.norm, plan.in_width if plan.normalizes_input else conv_width, spec.dimensions),
        "activation": lambda: Maxout(spec.maxout) if spec.maxout else nn.ReLU(inplace=True),
        "dropout": lambda: Dropout(spec.dropout),
    }
    wanted = [operator for operator in plan.operators if operator != "norm" or spec.norm != "none"]
    if wanted[0] == "activation":
        makers["activation"] = nn.ReLU  # the layer's input is also the shortcut's: leave it alone
    return Layer({operator: makers[operator]() for operator in wanted})


def make_convolution(
    dimensions: int, in_width: int, out_width: int, *, kernel: int, stride: int = 1, bias: bool = False
) -> nn.Module:
    """Make a convolution that keeps the map's size but for its stride; over no dimensions, a linear layer."""
    if dimensions == 0:
        return nn.Linear(in_width, out_width, bias=bias)
    return CONVOLUTIONS[dimensions](in_width, out_width, kernel, stride=stride, padding=kernel // 2, bias=bias)


def make_norm(norm: Norm, width: int, dimensions: int) -> nn.Module:
    """Make the normalization of one layer."""
    if norm == "batch":
        return BATCH_NORMS[dimensions](width)
    if norm == "frozen":
        return FrozenBatchNorm(width)
    if norm == "group":
        groups = math.gcd(32, width)
        return nn.GroupNorm(groups if width > groups else max(1, groups // 2), width)  # of two channels at least
    return nn.Identity()


def make_norm_activation(spec: NetworkSpec, width: int) -> nn.Sequential:
    """Make the normalization and ReLU that stand outside any layer."""
    activation = nn.ReLU(inplace=spec.norm != "none")
    return nn.Sequential(OrderedDict(norm=make_norm(spec.norm, width, spec.dimensions), activation=activation))
