"""Networks for inference: batch normalizations go into the convolutions before them, which they only scale and shift.

On CUDA cuDNN then has convolution, bias, shortcut and ReLU as one kernel, so a map is written once, in its last form.
"""

import copy
from collections.abc import Mapping
from typing import TypeAlias, TypeGuard, TypeVar

import torch
from torch import Tensor, nn

from reslab.networks.blocks import Block
from reslab.networks.layers import FrozenBatchNorm, Layer, Observer

FOLDABLE = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, FrozenBatchNorm)
Model = TypeVar("Model", bound=nn.Module)
Convolution: TypeAlias = nn.Linear | nn.Conv1d | nn.Conv2d | nn.Conv3d


class FoldedLayer(Layer):
    """A layer whose normalization is in its convolution; `joins` while cuDNN has a kernel for all of it."""

    def __init__(self, layer: Layer) -> None:
        operators: Mapping[str, nn.Module] = dict(zip(layer.operators, layer, strict=True))
        left_out = ("norm", "dropout")  # inference drops nothing
        super().__init__({name: operator for name, operator in operators.items() if name not in left_out})
        self.activates = isinstance(operators.get("activation"), nn.ReLU)
        _fold(self.convolution, operators["norm"])
        self.joins = isinstance(self.convolution, nn.Conv2d)

    @property
    def convolution(self) -> Convolution:
        """What is left of the layer besides its activation."""
        conv = self.get_submodule("conv")
        assert isinstance(conv, Convolution)
        return conv

    def forward(self, input: Tensor, observe: Observer | None = None, name: str = "") -> Tensor:
        if self.activates and observe is None and self.joins and input.is_cuda:
            return self.add_activate(input, None)
        return super().forward(input, observe, name)

    def add_activate(self, x: Tensor, added: Tensor | None) -> Tensor:
        """Return ReLU of the convolution and of what is added to it."""
        conv = self.convolution
        if self.joins and x.is_cuda:
            assert isinstance(conv, nn.Conv2d) and not isinstance(conv.padding, str)
            how = (conv.stride, conv.padding, conv.dilation, conv.groups)
            try:
                if added is None:
                    return torch.cudnn_convolution_relu(x, conv.weight, conv.bias, *how)
                return torch.cudnn_convolution_add_relu(x, conv.weight, added, 1.0, conv.bias, *how)
            except torch.OutOfMemoryError:
                raise
            except RuntimeError:  # no such kernel for these widths or this type
                self.joins = False
        y = conv(x)
        return (y if added is None else y.add_(added)).relu_()


class FoldedBlock(nn.Module):
    """A residual block whose addition and last ReLU belong to its last convolution."""

    def __init__(self, block: Block) -> None:
        super().__init__()
        *first, last = (FoldedLayer(layer) for layer in block.layers if isinstance(layer, Layer))
        self.first, self.last = nn.ModuleList(first), last
        self.shortcut = block.shortcut
        if isinstance(block.shortcut, Layer):
            projection = FoldedLayer(block.shortcut).convolution
            bias, others = last.convolution.bias, projection.bias
            assert bias is not None and others is not None
            bias.data += others.data  # both are added to the same map
            projection.register_parameter("bias", None)
            self.shortcut = projection

    def forward(self, x: Tensor) -> Tensor:
        residual = x
        for layer in self.first:
            residual = layer(residual)
        assert self.shortcut is not None
        return self.last.add_activate(residual, self.shortcut(x))


def fold(network: Model) -> Model:
    """Return a copy for inference that gives the same outputs, but for rounding, and no other activations."""
    folded = copy.deepcopy(network).eval().requires_grad_(requires_grad=False)
    _replace(folded)
    return folded


def _replace(module: nn.Module) -> None:
    for name, child in module.named_children():
        if isinstance(child, Block) and _ends_in_addition(child):
            setattr(module, name, FoldedBlock(child))
        elif _is_foldable(child):
            setattr(module, name, FoldedLayer(child))
        else:
            _replace(child)


def _is_foldable(layer: nn.Module) -> TypeGuard[Layer]:
    normed = isinstance(layer, Layer) and layer.responds_at == "norm"
    return normed and isinstance(layer.get_submodule("norm"), FOLDABLE)


def _ends_in_addition(block: Block) -> bool:
    """Whether a block is y = ReLU(F(x) + shortcut(x)), with nothing else on the way, all of it foldable."""
    layers = [*block.layers, *([block.shortcut] if isinstance(block.shortcut, Layer) else [])]
    between = (block.gate, block.preactivation, block.excitation)
    added = block.shortcut is not None and all(part is None for part in between)
    return added and isinstance(block.after, nn.ReLU) and all(_is_foldable(layer) for layer in layers)


@torch.no_grad()
def _fold(conv: Convolution, norm: nn.Module) -> None:
    """Let a convolution do what its normalization does after it."""
    assert isinstance(norm, FOLDABLE)
    mean, variance, gain, shift = (
        getattr(norm, name).double() for name in ("running_mean", "running_var", "weight", "bias")
    )
    scale = gain / (variance + norm.eps).sqrt()
    weight, bias = conv.weight, conv.bias
    shifted = shift - mean * scale + (0 if bias is None else bias.double() * scale)
    folded = weight.double() * scale.view(-1, *[1] * (weight.dim() - 1))
    conv.weight.data = folded.to(weight.dtype)
    conv.bias = nn.Parameter(shifted.to(weight.dtype), requires_grad=False)
