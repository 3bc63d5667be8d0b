"""The R-operator (Pearlmutter, 1994) of single layers: each carries tangents forward, and a gradient's tangents back.

With R{x} the derivative of x along a direction, the way back of R{loss gradient} is the Hessian's product with it. All
of this is first-order: a convolution's tangents are two convolutions, where differentiating a gradient again would
take cuDNN's double backward, which is slow. Kernels that read the same map run as one with several times the channels.
"""

from __future__ import annotations

import abc
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from reslab.analysis.curvature.kernels import Convolutional, Effective, Kernels
from reslab.analysis.curvature.tangents import (
    Directions,
    Dual,
    add_side_by_side,
    by_direction,
    empty_map,
    join_channels,
    side_by_side,
    stacked,
)

aten: Any = torch.ops.aten


class Operator(abc.ABC):
    """A part of a network. Going forward it keeps what it needs on the way back, where it lets go of it.

    A gradient is asked of it only if tangents came to it: otherwise no weight that moves is upstream.
    """

    @abc.abstractmethod
    def forward(self, x: Dual, directions: Directions) -> Dual:
        """Return what leaves this part, with its tangents."""

    @abc.abstractmethod
    def backward(self, gradient: Dual, directions: Directions) -> Dual | None:
        """Return the gradient of what entered, or None where none is asked; add to the products of its weights."""


class Convolution(Operator):
    """A convolution, of any number of dimensions, by kernels of its own or by what a normalization makes of them."""

    def __init__(self, module: Convolutional, kernels: Kernels, *, narrow: torch.dtype | None = None) -> None:
        self.kernels, self.dtype = kernels, narrow or module.weight.dtype
        self.convolve: Any = (F.conv1d, F.conv2d, F.conv3d)[len(module.kernel_size) - 1]
        self.stride, self.padding = tuple(module.stride), tuple(module.padding)
        self.kept: tuple[Dual, Effective] | None = None

    def forward(self, x: Dual, directions: Directions) -> Dual:
        count, used = directions.count, self.kernels.find(directions)
        tangents = None if x.tangents is None else self._convolve(x.tangents, used.weight, None)
        self.kept = x, used
        if used.moved is None:
            return Dual(self._convolve(x.map, used.weight, used.bias), tangents)
        width, (weight, bias) = len(used.weight), used.moved
        biases = None
        if used.bias is not None and bias is not None:
            biases = torch.cat([used.bias, bias.flatten()])
        maps = self._convolve(x.map, torch.cat([used.weight, weight.flatten(0, 1)]), biases)
        beside = maps[:, width:]
        tangents = stacked(beside, count) if tangents is None else add_side_by_side(tangents, beside, count)
        return Dual(maps[:, :width], tangents)

    def backward(self, gradient: Dual, directions: Directions) -> Dual | None:
        assert self.kept is not None and gradient.tangents is not None
        (x, used), self.kept = self.kept, None
        if used.moved is not None:
            self._add_products(x, gradient, used, directions)
        if x.tangents is None:
            return None
        count, places, width = directions.count, x.map.shape[2:], used.weight.shape[1]
        back = self._spread(gradient.tangents, used.weight, places)
        if gradient.value is None:
            return Dual(None, back)
        if used.moved is None:
            return Dual(self._spread(gradient.value, used.weight, places), back)
        by_input = used.moved[0].transpose(0, 1).flatten(1, 2)
        maps = self._spread(gradient.value, torch.cat([used.weight, by_input], 1), places)
        return Dual(maps[:, :width], add_side_by_side(back, maps[:, width:], count))

    def _add_products(self, x: Dual, gradient: Dual, used: Effective, directions: Directions) -> None:
        assert used.moved is not None and gradient.tangents is not None
        count = directions.count
        weight = self._correlate(x.map, side_by_side(gradient.tangents, count)).view_as(used.moved[0])
        places, first, bias = range(3, gradient.tangents.dim() + 1), None, None
        if self.kernels.shifts:
            bias = by_direction(gradient.tangents, count).sum((1, *places))
        if gradient.value is not None:
            width = 0 if x.tangents is None else count * x.tangents.shape[1]
            parts = [] if x.tangents is None else [side_by_side(x.tangents, count)]
            if self.kernels.bends:
                parts.append(x.map)
            found = self._correlate(join_channels(parts), gradient.value) if parts else None
            if found is not None and width:
                weight = weight + found[:, :width].unflatten(1, (count, -1)).transpose(0, 1)
            if found is not None and self.kernels.bends:
                first = found[:, width:], gradient.value.sum((0, *range(2, gradient.value.dim())))
        self.kernels.add(directions, weight, bias, first)

    def _convolve(self, maps: Tensor, kernels: Tensor, bias: Tensor | None) -> Tensor:
        maps, kernels = maps.to(self.dtype), kernels.to(self.dtype)
        return self.convolve(maps, kernels, None if bias is None else bias.to(self.dtype), self.stride, self.padding)

    def _spread(self, gradient: Tensor, kernels: Tensor, places: torch.Size) -> Tensor:
        """Return the gradient of what was convolved."""
        shape = (len(gradient), kernels.shape[1], *places)
        entered = empty_map(shape, like=gradient, dtype=self.dtype)  # torch asks for its shape
        return self._take_back(gradient, entered, kernels.to(self.dtype), (True, False, False))[0]

    def _correlate(self, maps: Tensor, gradient: Tensor) -> Tensor:
        """Return the gradient of kernels that convolved maps."""
        shape = (gradient.shape[1], maps.shape[1], *self.kernels.weight.shape[2:])
        kernels = empty_map(shape, like=self.kernels.weight, dtype=self.dtype)
        return self._take_back(gradient, maps, kernels, (False, True, False))[1]

    def _take_back(
        self, gradient: Tensor, maps: Tensor, kernels: Tensor, wanted: tuple[bool, bool, bool]
    ) -> tuple[Tensor, Tensor, Tensor]:
        gradient, maps = gradient.to(self.dtype), maps.to(self.dtype)
        none, one = [0] * len(self.stride), [1] * len(self.stride)
        return aten.convolution_backward(
            gradient, maps, kernels, None, self.stride, self.padding, one, False, none, 1, wanted
        )


class Linear(Operator):
    """A linear layer."""

    def __init__(self, module: nn.Linear) -> None:
        self.weight, self.bias = module.weight, module.bias
        self.kept: Dual = Dual(None, None)

    def forward(self, x: Dual, directions: Directions) -> Dual:
        self.kept = x = x.to(self.weight.dtype)
        count, moved = directions.count, directions.of(self.weight)
        tangents = None if x.tangents is None else F.linear(x.tangents, self.weight)
        if moved is not None:
            beside = (x.map @ moved.transpose(1, 2)).flatten(0, 1)
            tangents = beside if tangents is None else tangents + beside
        value = F.linear(x.map, self.weight, self.bias)
        if self.bias is not None:
            tangents = _add_channels(tangents, directions.of(self.bias), like=value, count=count)
        return Dual(value, tangents)

    def backward(self, gradient: Dual, directions: Directions) -> Dual | None:
        x, self.kept = self.kept, Dual(None, None)
        count, moved, tangents = directions.count, directions.of(self.weight), gradient.tangents
        assert tangents is not None
        parts = by_direction(tangents, count)
        if moved is not None:
            product = parts.transpose(1, 2) @ x.map
            if gradient.value is not None and x.tangents is not None:
                product = product + gradient.value.T @ by_direction(x.tangents, count)
            directions.add(self.weight, product)
        if self.bias is not None and directions.of(self.bias) is not None:
            directions.add(self.bias, parts.sum(1))
        if x.tangents is None:
            return None
        back = tangents @ self.weight
        if gradient.value is None:
            return Dual(None, back)
        if moved is not None:
            back = back + (gradient.value @ moved).flatten(0, 1)
        return Dual(gradient.value @ self.weight, back)


class Rectifier(Operator):
    """ReLU."""

    def __init__(self) -> None:
        self.kept: tuple[Tensor, bool] | None = None

    def forward(self, x: Dual, directions: Directions) -> Dual:
        value = x.map.relu()
        self.kept = value, x.tangents is not None
        return Dual(value, None if x.tangents is None else _mask(x.tangents, value, directions.count))

    def backward(self, gradient: Dual, directions: Directions) -> Dual | None:
        assert self.kept is not None and gradient.tangents is not None
        (output, asked), self.kept = self.kept, None
        if not asked:
            return None
        value = None if gradient.value is None else aten.threshold_backward(gradient.value, output, 0)
        return Dual(value, _mask(gradient.tangents, output, directions.count))


class Average(Operator):
    """The global average pool."""

    def __init__(self) -> None:
        self.kept: tuple[torch.Size, bool, torch.dtype] | None = None

    def forward(self, x: Dual, directions: Directions) -> Dual:
        places = x.map.shape[2:]
        self.kept = places, x.tangents is not None, x.map.dtype
        if not places:
            return x
        axes = tuple(range(2, x.map.dim()))
        return Dual(x.map.mean(axes), None if x.tangents is None else x.tangents.mean(axes))

    def backward(self, gradient: Dual, directions: Directions) -> Dual | None:
        assert self.kept is not None
        (places, asked, dtype), self.kept = self.kept, None
        if not asked:
            return None
        return Dual(*[None if part is None else _spread_evenly(part, places) for part in gradient.to(dtype)])


class Maximum(Operator):
    """A max pool of images."""

    def __init__(self, module: nn.MaxPool2d) -> None:
        self.window = module.kernel_size, module.stride, module.padding, module.dilation, module.ceil_mode
        self.kept: tuple[Tensor, torch.Size, bool] | None = None

    def forward(self, x: Dual, directions: Directions) -> Dual:
        value, winners = aten.max_pool2d_with_indices(x.map, *self.window)
        self.kept = winners, x.map.shape, x.tangents is not None
        if x.tangents is None:
            return Dual(value, None)
        parts = by_direction(x.tangents, directions.count).flatten(3)
        chosen = parts.gather(3, winners.flatten(2).expand(directions.count, -1, -1, -1))
        return Dual(value, chosen.flatten(0, 1).view(-1, *value.shape[1:]))

    def backward(self, gradient: Dual, directions: Directions) -> Dual | None:
        assert self.kept is not None and gradient.tangents is not None
        (winners, shape, asked), self.kept = self.kept, None
        if not asked:
            return None
        return Dual(*[None if part is None else self._return(part, winners, shape) for part in gradient])

    def _return(self, gradient: Tensor, winners: Tensor, shape: torch.Size) -> Tensor:
        count = len(gradient) // len(winners)
        entered = gradient.new_empty(len(gradient), *shape[1:])
        indices = winners.repeat(count, 1, 1, 1)
        return aten.max_pool2d_with_indices_backward(gradient.contiguous(), entered, *self.window, indices.contiguous())


def _add_channels(tangents: Tensor | None, moved: Tensor | None, *, like: Tensor, count: int) -> Tensor | None:
    """Return tangents with those of a bias (directions, channels) added."""
    if moved is None:
        return tangents
    if tangents is None:
        tangents = empty_map((count * len(like), *like.shape[1:]), like=like).zero_()
    beside = moved.view(count, 1, -1, *[1] * (like.dim() - 2))
    return (by_direction(tangents, count) + beside).flatten(0, 1)


def _mask(tangents: Tensor, output: Tensor, count: int) -> Tensor:
    return aten.threshold_backward(by_direction(tangents, count), output, 0).flatten(0, 1)


def _spread_evenly(gradient: Tensor, places: torch.Size) -> Tensor:
    share = gradient / max(1, places.numel())
    return share.view(*share.shape, *[1] * len(places)).expand(*share.shape, *places)
