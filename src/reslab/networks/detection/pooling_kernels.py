"""RoI pooling on CUDA (Triton): a program for each bin forward, and for each pixel of the map back.

A pixel adds up what it is given by all bins it is the largest of, region by region, so nothing is added in an order
that changes from run to run.
"""

# Constants are upper case, as Triton's users write them.
# ruff: noqa: N803
# pyright: reportGeneralTypeIssues=false, reportCallIssue=false, reportOperatorIssue=false
# pyright: reportAttributeAccessIssue=false, reportArgumentType=false

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.language import constexpr

MOST_CHANNELS = 512  # that a program has


def pool(table: Tensor, bins: tuple[Tensor, ...], width: int, most: int) -> tuple[Tensor, Tensor]:
    """Return the largest row of each bin, channel by channel, and the number of its pixel there; -1 where it has none.

    `bins` are the first rows, their counts, the first columns and theirs (regions, side). Pixels of a bin are numbered
    as if each of its lines had `most`.
    """
    regions, side = bins[0].shape
    channels, block = table.shape[1], _choose_block(table)
    values = table.new_empty(regions * side * side, channels)
    chosen = torch.empty_like(values, dtype=torch.int16)
    grid = (len(values), triton.cdiv(channels, block))
    _pool[grid](table, *_narrow(bins), values, chosen, width, most, channels, side, block)
    return values, chosen


def spread(chosen: Tensor, gradients: Tensor, bins: tuple[Tensor, ...], width: int, most: int, table: Tensor) -> None:
    """Write into `table` what every pixel of the map is given by the bins that chose it."""
    regions, side = bins[0].shape
    channels, block = table.shape[1], _choose_block(table)
    grid = (len(table), triton.cdiv(channels, block))
    padded = triton.next_power_of_2(side)
    _spread[grid](
        chosen, gradients.contiguous(), *_narrow(bins), table, regions, width, most, channels, side, padded, block
    )


def _choose_block(table: Tensor) -> int:
    return min(triton.next_power_of_2(table.shape[1]), MOST_CHANNELS)


def _narrow(bins: tuple[Tensor, ...]) -> list[Tensor]:
    return [each.int().contiguous() for each in bins]


@triton.jit
def _pool(
    table, tops, heights, lefts, widths, values, chosen, width, most, channels, SIDE: constexpr, BLOCK: constexpr
):
    """Compare the pixels of a bin, line by line; of equal ones the first stays."""
    bin_ = tl.program_id(0).to(tl.int64)
    line, place = bin_ // SIDE, bin_ // (SIDE * SIDE) * SIDE + bin_ % SIDE
    top, height, left, length = (
        tl.load(tops + line),
        tl.load(heights + line),
        tl.load(lefts + place),
        tl.load(widths + place),
    )
    channel = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    there = channel < channels
    best = tl.full([BLOCK], float("-inf"), table.dtype.element_ty)
    which = tl.full([BLOCK], -1, tl.int32)
    for down in range(height):
        for across in range(length):
            pixel = (top + down).to(tl.int64) * width + left + across
            value = tl.load(table + pixel * channels + channel, mask=there, other=float("-inf"))
            better = value > best
            best = tl.where(better, value, best)
            which = tl.where(better, down * most + across, which)
    at = bin_ * channels + channel
    tl.store(values + at, tl.where(which < 0, 0.0, best), mask=there)
    tl.store(chosen + at, which.to(tl.int16), mask=there)


@triton.jit
def _spread(
    chosen,
    gradients,
    tops,
    heights,
    lefts,
    widths,
    table,
    regions,
    width,
    most,
    channels,
    SIDE: constexpr,
    PADDED: constexpr,
    BLOCK: constexpr,
):
    """Add up what a pixel is given; the bins of a region that have it are next to each other."""
    pixel = tl.program_id(0).to(tl.int64)
    row, column = (pixel // width).to(tl.int32), (pixel % width).to(tl.int32)
    channel = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside, lane = channel < channels, tl.arange(0, PADDED)
    total = tl.zeros([BLOCK], table.dtype.element_ty)
    zero = tl.zeros([BLOCK], tl.int64)  # positions may be more than 32 bits hold
    for region in range(regions):
        first_line, last_line = _find(tops, heights, region, row, lane, SIDE)
        first_place, last_place = _find(lefts, widths, region, column, lane, SIDE)
        for line in range(first_line, last_line + 1):
            down = row - tl.load(tops + region * SIDE + line)
            for place in range(first_place, last_place + 1):
                number = down * most + column - tl.load(lefts + region * SIDE + place)
                at = (zero + (region * SIDE + line) * SIDE + place) * channels + channel
                own = tl.load(chosen + at, mask=inside, other=-1) == number
                total += tl.load(gradients + at, mask=inside & own, other=0.0).to(total.dtype)
    tl.store(table + pixel * channels + channel, total, mask=inside)


@triton.jit
def _find(starts, counts, region, at, lane, SIDE: constexpr):
    """Return the first and the last bin of a region, along one axis, that have a pixel; none if the last is before."""
    known = lane < SIDE
    start = tl.load(starts + region * SIDE + lane, mask=known, other=0)
    count = tl.load(counts + region * SIDE + lane, mask=known, other=0)
    has = (start <= at) & (at < start + count)
    return tl.min(tl.where(has, lane, SIDE), 0), tl.max(tl.where(has, lane, -1), 0)
