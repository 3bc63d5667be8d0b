"""Maps with their tangents, and the directions in weight space these belong to.

Several directions are followed at once. Tangents of a map (images, channels, ...) are stacked along the images, so that
what is linear takes them as a larger batch; for kernels that differ by direction they stand side by side as channels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from reslab.runtime.execution import CHANNELS_LAST


class Dual(NamedTuple):
    """A map, or a gradient, and its tangents (directions x images, channels, ...).

    Tangents are None where no weight that moves is upstream. A gradient's value is None in Gauss-Newton products, which
    have no second derivatives of the network in them.
    """

    value: Tensor | None
    tangents: Tensor | None

    @property
    def map(self) -> Tensor:
        """The value, on the way forward, where there always is one."""
        assert self.value is not None
        return self.value

    def to(self, dtype: torch.dtype) -> Dual:
        """Return both in a precision."""
        return Dual(*[None if part is None else part.to(dtype) for part in self])


class Directions:
    """`count` directions in the space of some parameters, and what they are multiplied to, both as rows."""

    def __init__(self, parameters: Sequence[nn.Parameter], count: int) -> None:
        first = parameters[0]
        size = sum(parameter.numel() for parameter in parameters)
        self.count = count
        self.given = torch.zeros(count, size, dtype=first.dtype, device=first.device)
        self.found = torch.zeros_like(self.given)
        self._given = _divide(self.given, parameters)
        self._found = _divide(self.found, parameters)

    def of(self, parameter: Tensor) -> Tensor | None:
        """Return a parameter's part of all directions (directions, *shape), or None where it stays as it is."""
        return self._given.get(id(parameter))

    def part_of(self, parameter: Tensor) -> Tensor:
        """Return the part of a parameter that moves."""
        return self._given[id(parameter)]

    def product_of(self, parameter: Tensor) -> Tensor:
        """Return the parameter's part of the products."""
        return self._found[id(parameter)]

    def add(self, parameter: Tensor, product: Tensor, *, row: int | slice = slice(None)) -> None:
        """Add to the parameter's part of the products, of all directions or of one."""
        self.product_of(parameter)[row].add_(product)


def _divide(rows: Tensor, parameters: Sequence[nn.Parameter]) -> dict[int, Tensor]:
    parts = rows.split([parameter.numel() for parameter in parameters], 1)
    return {
        id(parameter): part.view(len(rows), *parameter.shape) for parameter, part in zip(parameters, parts, strict=True)
    }


def by_direction(tangents: Tensor, count: int) -> Tensor:
    """Return stacked tangents as (directions, images, channels, ...), in the same memory."""
    return tangents.unflatten(0, (count, -1))


def side_by_side(tangents: Tensor, count: int) -> Tensor:
    """Return stacked tangents as (images, directions x channels, ...)."""
    if count == 1:
        return tangents
    _, channels, *places = tangents.shape
    parts = by_direction(tangents, count)
    joined = empty_map((parts.shape[1], count * channels, *places), like=tangents)
    joined.unflatten(1, (count, channels)).copy_(parts.transpose(0, 1))
    return joined


def stacked(maps: Tensor, count: int) -> Tensor:
    """Return (images, directions x channels, ...) as stacked tangents."""
    if count == 1:
        return maps
    images, channels, *places = maps.shape
    joined = empty_map((count * images, channels // count, *places), like=maps)
    by_direction(joined, count).copy_(maps.unflatten(1, (count, -1)).transpose(0, 1))
    return joined


def add_side_by_side(tangents: Tensor, maps: Tensor, count: int) -> Tensor:
    """Add (images, directions x channels, ...) to stacked tangents, in place."""
    by_direction(tangents, count).add_(maps.unflatten(1, (count, -1)).transpose(0, 1))
    return tangents


def join_channels(maps: Sequence[Tensor]) -> Tensor:
    """Return maps of the same images as one with the channels of all."""
    return maps[0] if len(maps) == 1 else torch.cat(tuple(maps), 1)


def empty_map(shape: Sequence[int], *, like: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """Return memory for a map in the layout of another, or of a part of its channels."""
    last = CHANNELS_LAST.get(like.dim()) if like.dim() > 1 and like.stride(1) == 1 else None
    layout = last or torch.contiguous_format
    return torch.empty(tuple(shape), dtype=dtype or like.dtype, device=like.device, memory_format=layout)
