"""The kernels that a convolution computes with: its own, or those that normalize by fixed statistics besides.

Such a normalization scales and shifts each channel: with a = gamma / sigma, the kernels W' = a W and the biases
b' = beta + a (b - mean) do both at once. They are products of weights: where these move, so do the slopes by which
gradients go back.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from torch import Tensor, nn

from reslab.analysis.curvature.tangents import Directions

Convolutional: TypeAlias = nn.Conv1d | nn.Conv2d | nn.Conv3d
Gradients: TypeAlias = tuple[Tensor, Tensor]


class Effective(NamedTuple):
    """What is convolved with, and how that moves (directions, ...), weights and biases, where it does."""

    weight: Tensor
    bias: Tensor | None
    moved: tuple[Tensor, Tensor | None] | None


class Kernels:
    """A convolution's own."""

    bends = False  # whether the gradient's own value takes part in how weights' gradients move

    def __init__(self, module: Convolutional) -> None:
        self.weight, self.bias = module.weight, module.bias

    @property
    def shifts(self) -> bool:
        """Whether anything is added to what is convolved."""
        return self.bias is not None

    def find(self, directions: Directions) -> Effective:
        """Return what to convolve with."""
        weight = directions.of(self.weight)
        bias = None if self.bias is None else directions.of(self.bias)
        return Effective(self.weight, self.bias, None if weight is None else (weight, bias))

    def add(self, directions: Directions, weight: Tensor, bias: Tensor | None, first: Gradients | None) -> None:
        """Add to the products, given how the gradients of what was convolved with move, and these where they bend.

        That of the bias is given where anything shifts.
        """
        del first
        directions.add(self.weight, weight)
        if self.bias is not None and bias is not None:
            directions.add(self.bias, bias)


class NormalizedKernels(Kernels):
    """With a normalization of fixed statistics behind them; its weight and bias may be constants."""

    bends = True

    def __init__(self, module: Convolutional, norm: nn.Module) -> None:
        super().__init__(module)
        self.gamma: Tensor = norm.weight  # pyright: ignore[reportAttributeAccessIssue]
        self.beta: Tensor = norm.bias  # pyright: ignore[reportAttributeAccessIssue]
        self.mean: Tensor = norm.running_mean  # pyright: ignore[reportAttributeAccessIssue]
        self.scale: Tensor = (norm.running_var + norm.eps).rsqrt()  # pyright: ignore

    def find(self, directions: Directions) -> Effective:
        """Return what to convolve with."""
        a, offset = self.gamma * self.scale, self._offset
        weight, bias = _by_width(a, self.weight) * self.weight, self.beta + a * offset
        own, gamma, beta = directions.of(self.weight), directions.of(self.gamma), directions.of(self.beta)
        if own is None:
            return Effective(weight, bias, None)
        moved = _by_width(a, self.weight) * own
        moved_bias = moved.new_zeros(directions.count, len(a))
        if gamma is not None and beta is not None:
            moved = moved + _by_width(gamma * self.scale, self.weight) * self.weight
            moved_bias = beta + gamma * self.scale * offset
        if self.bias is not None:
            moved_bias = moved_bias + a * directions.part_of(self.bias)
        return Effective(weight, bias, (moved, moved_bias))

    def add(self, directions: Directions, weight: Tensor, bias: Tensor | None, first: Gradients | None) -> None:
        """Add to the products, through a, W and b."""
        assert bias is not None
        a, gamma = self.gamma * self.scale, directions.of(self.gamma)
        own = _by_width(a, self.weight) * weight
        own_bias = a * bias
        slopes = (weight * self.weight).flatten(2).sum(2) + bias * self._offset
        if first is not None:
            slopes = slopes + (first[0] * directions.part_of(self.weight)).flatten(2).sum(2)
            if gamma is not None:
                own = own + _by_width(gamma * self.scale, self.weight) * first[0]
                own_bias = own_bias + gamma * self.scale * first[1]
            if self.bias is not None:
                slopes = slopes + first[1] * directions.part_of(self.bias)
        directions.add(self.weight, own)
        if self.bias is not None:
            directions.add(self.bias, own_bias)
        if gamma is not None:
            directions.add(self.gamma, slopes * self.scale)
            directions.add(self.beta, bias)

    @property
    def shifts(self) -> bool:
        """It does."""
        return True

    @property
    def _offset(self) -> Tensor:
        return -self.mean if self.bias is None else self.bias - self.mean


def _by_width(values: Tensor, weight: Tensor) -> Tensor:
    """Return values of channels, or of (directions, channels), as they scale kernels."""
    return values.view(*values.shape, *[1] * (weight.dim() - 1))
