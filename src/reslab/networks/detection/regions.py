"""Regions of maps as small maps of one size: the largest value of each bin (RoI pooling), or interpolated (RoIAlign).

Maps of all levels form one table with a row of channels for each pixel. Every value of a region is a sum, or a maximum,
over a few rows: a bag of embeddings. Going back, rows are added in a fixed order, so the same input gives the same
gradient, bit for bit.
"""

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.autograd.function import Function, once_differentiable
from torch.nn import functional as F

Bins: TypeAlias = tuple[Tensor, ...]  # first rows, how many, first columns, how many (regions, side)


def align(
    maps: Sequence[Tensor],
    boxes: Tensor,
    images: Tensor,
    *,
    levels: Tensor | None = None,
    strides: Sequence[int],
    side: int,
    samples: int,
    shifted: bool,
) -> Tensor:
    """Return interpolated values of regions (regions, channels, side, side): RoIAlign (He et al., 2017).

    `images` and `levels` say of which image and which of `maps` each box is. Values are means over `samples` squared
    places in each bin. `shifted` takes the value of a pixel to be at its middle, as is right; without, at its corner.
    """
    if torch.compiler.is_exporting():
        return torch.ops.reslab.align(maps, boxes, images, levels, strides, side, samples, shifted)
    numbers = torch.zeros_like(images) if levels is None else levels
    scale = _pick([1 / stride for stride in strides], numbers, boxes)
    height, width = (_pick([each.shape[axis] for each in maps], numbers) for axis in (2, 3))
    first = _pick(_first_rows(maps), numbers) + images * height * width
    left, top, right, bottom = (boxes * scale[:, None] - (0.5 if shifted else 0)).unbind(1)
    extents = (bottom - top, right - left)
    if not shifted:  # as the first version had it
        extents = tuple(extent.clamp(min=1) for extent in extents)
    rows, row_weights = _interpolate(top, extents[0], height, side=side, samples=samples)
    columns, column_weights = _interpolate(left, extents[1], width, side=side, samples=samples)
    rows = first[:, None, None] + rows * width[:, None, None]
    values = _Align.apply(_make_table(maps), rows, row_weights / samples**2, columns, column_weights)
    return _as_maps(values, len(boxes), side)


def pool_max(map_: Tensor, boxes: Tensor, images: Tensor, *, stride: int, side: int) -> Tensor:
    """Return the largest value in each bin of regions (regions, channels, side, side): RoI pooling (Girshick, 2015).

    Boxes reach to their last pixel, which belongs to them, and lie on the map. Bins share pixels where they do not end
    at one.
    """
    if torch.compiler.is_exporting():
        return torch.ops.reslab.pool_max(map_, boxes, images, stride, side)
    height, width = map_.shape[2:]
    left, top, right, bottom = (boxes / stride + 0.5).floor().unbind(1)
    rows, row_counts = _divide(top, bottom, height, side)
    columns, column_counts = _divide(left, right, width, side)
    rows = (images * height)[:, None] + rows
    most = (math.ceil((height + 2) / side) + 1, math.ceil((width + 2) / side) + 1)
    values = _PoolMax.apply(_make_table([map_]), (rows, row_counts, columns, column_counts), width, most)
    return _as_maps(values, len(boxes), side)


class _Align(Function):
    """Weighted sums of rows of a table: row by column, each interpolated between two."""

    @staticmethod
    def forward(ctx: Any, *given: Tensor) -> Tensor:
        table, *places = given
        ctx.save_for_backward(*places)
        ctx.shape, ctx.dtype = table.shape, table.dtype
        index, weights = _list_places(*places)
        return F.embedding_bag(index, table.to(_wide(table)), mode="sum", per_sample_weights=weights).to(table.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        wide = gradients[0].to(_wide(gradients[0]))
        index, weights = _list_places(*ctx.saved_tensors)
        # The same sums the other way round: of each row, over all values that it is a part of, in their order.
        rows, order = index.flatten().sort(stable=True)
        starts = torch.searchsorted(rows, torch.arange(ctx.shape[0], device=rows.device))
        values = order.div(index.shape[1], rounding_mode="floor")
        table = F.embedding_bag(values, wide, starts, mode="sum", per_sample_weights=weights.flatten()[order])
        return table.to(ctx.dtype), None, None, None, None


class _PoolMax(Function):
    """The largest of several rows of a table, channel by channel; zero where there is none."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, bins: Bins, width: int, most: tuple[int, int]) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        values, chosen = (_pool_on_device if table.is_cuda else _pool)(table, bins, width, most)
        ctx.save_for_backward(chosen, *bins)
        ctx.rest, ctx.shape, ctx.dtype = (width, most), table.shape, table.dtype
        return values

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        chosen, *bins = ctx.saved_tensors
        wide = gradients[0].to(_wide(gradients[0]))
        table = wide.new_zeros(ctx.shape)
        width, most = ctx.rest
        (_spread_on_device if table.is_cuda else _spread)(chosen, wide, tuple(bins), width, most, table)
        return table.to(ctx.dtype), None, None, None


def _pool(table: Tensor, bins: Bins, width: int, most: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """Return the largest row of each bin, channel by channel, and which row that is: the one after the last if none."""
    padded = torch.cat([table, table.new_full((1, table.shape[1]), -torch.inf)])
    index = _list_bins(bins, width, most, absent=len(table))
    starts = torch.arange(0, index.numel(), index.shape[1], device=index.device)
    values, _, _, chosen = torch.embedding_bag(padded, index.flatten(), starts, mode=2)
    return torch.where(chosen == len(table), 0, values), chosen


def _spread(chosen: Tensor, gradients: Tensor, bins: Bins, width: int, most: tuple[int, int], table: Tensor) -> None:
    """Add to the rows of a table what the bins that chose them give them."""
    there = chosen < len(table)
    table.scatter_add_(0, torch.where(there, chosen, 0), gradients * there)


def _pool_on_device(table: Tensor, bins: Bins, width: int, most: tuple[int, int]) -> tuple[Tensor, Tensor]:
    from reslab.networks.detection.pooling_kernels import pool  # Triton is slow to import, and not everywhere

    return pool(table.contiguous(), bins, width, most[1])


def _spread_on_device(
    chosen: Tensor, gradients: Tensor, bins: Bins, width: int, most: tuple[int, int], table: Tensor
) -> None:
    from reslab.networks.detection.pooling_kernels import spread

    spread(chosen, gradients, bins, width, most[1], table)


def _list_places(rows: Tensor, row_weights: Tensor, columns: Tensor, column_weights: Tensor) -> tuple[Tensor, Tensor]:
    """Return what each interpolated value is a sum of: rows of the table and their weights (values, summands)."""
    index = rows[:, :, None, :, None] + columns[:, None, :, None, :]
    weights = row_weights[:, :, None, :, None] * column_weights[:, None, :, None, :]
    return index.flatten(3).flatten(0, 2), weights.flatten(3).flatten(0, 2)


def _list_bins(bins: Bins, width: int, most: tuple[int, int], *, absent: int) -> Tensor:
    """Return the pixels of bins, line by line, as rows of the table (bins, pixels); `absent` where there are fewer."""
    rows, row_counts, columns, column_counts = bins
    down, across = (torch.arange(count, device=rows.device) for count in most)
    lines, places = rows[..., None] + down, columns[..., None] + across
    index = (lines * width)[:, :, None, :, None] + places[:, None, :, None, :]
    there = (down < row_counts[..., None])[:, :, None, :, None] & (across < column_counts[..., None])[
        :, None, :, None, :
    ]
    return torch.where(there, index, absent).flatten(3).flatten(0, 2)


def _interpolate(start: Tensor, extent: Tensor, length: Tensor, *, side: int, samples: int) -> tuple[Tensor, Tensor]:
    """Return the two pixels beside each sample along one axis, and their weights (regions, side, 2 samples)."""
    steps = torch.arange(side * samples, device=start.device, dtype=start.dtype)
    # In torchvision's order of operations: a sample near a pixel's edge is on the same side of it.
    bins, inner = steps.div(samples, rounding_mode="floor"), steps.remainder(samples) + 0.5
    size = _divide_evenly(extent, side)
    at = start[:, None] + bins * size + inner * size / samples
    last = (length - 1)[:, None]
    outside = (at < -1) | (at > last + 1)
    at = at.clamp(min=0)
    low = torch.minimum(at.floor().long(), last)
    high = torch.minimum(low + 1, last)
    share = torch.where(low < last, at - low, 0)
    weights = torch.stack([1 - share, share], dim=-1).masked_fill(outside[..., None], 0)
    shape = (len(start), side, 2 * samples)
    return torch.stack([low, high], dim=-1).view(shape), weights.view(shape)


def _divide(first: Tensor, last: Tensor, length: int, side: int) -> tuple[Tensor, Tensor]:
    """Return where the bins along one axis begin, and how many pixels each has (regions, side)."""
    size = _divide_evenly((last - first + 1).clamp(min=1), side)
    bins = torch.arange(side, device=first.device, dtype=first.dtype)
    starts, ends = (bins * size).floor() + first[:, None], ((bins + 1) * size).ceil() + first[:, None]
    starts, ends = starts.clamp(0, length).long(), ends.clamp(0, length).long()
    return starts.clamp(max=length - 1), ends - starts


def _divide_evenly(extent: Tensor, side: int) -> Tensor:
    """Return the size of a bin of each region. To divide by a number, CUDA multiplies by its rounded reciprocal."""
    return (extent / torch.full_like(extent, side))[:, None]


def _make_table(maps: Sequence[Tensor]) -> Tensor:
    tables = [each.permute(0, 2, 3, 1).reshape(-1, each.shape[1]) for each in maps]
    return tables[0] if len(tables) == 1 else torch.cat(tables)


def _first_rows(maps: Sequence[Tensor]) -> list[int]:
    """Return where each map begins in the table."""
    pixels = [each.shape[0] * each.shape[2] * each.shape[3] for each in maps]
    return [sum(pixels[:level]) for level in range(len(maps))]


def _pick(values: Sequence[float], levels: Tensor, like: Tensor | None = None) -> Tensor:
    """Return each region's value by its level; nothing is copied to the device."""
    picked = torch.full_like(levels, values[0], dtype=None if like is None else like.dtype)
    for level, value in enumerate(values[1:], start=1):
        picked = torch.where(levels == level, value, picked)
    return picked if like is None else picked.to(like.dtype)


def _wide(tensor: Tensor) -> torch.dtype:
    """Return the type to add up in."""
    return torch.float64 if tensor.dtype == torch.float64 else torch.float32


def _as_maps(values: Tensor, regions: int, side: int) -> Tensor:
    return values.view(regions, side, side, -1).permute(0, 3, 1, 2)
