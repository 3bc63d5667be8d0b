"""Suppression on CUDA (Triton): overlaps as bits, then one program a group that goes through them in order."""

# Constants are upper case, as Triton's users write them.
# ruff: noqa: N803
# pyright: reportGeneralTypeIssues=false, reportCallIssue=false, reportOperatorIssue=false
# pyright: reportAttributeAccessIssue=false

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.language import constexpr

BITS = constexpr(64)
ROWS = 32  # that a program compares with the boxes of one word


def walk(boxes: Tensor, there: Tensor, overlap: float, count: int) -> tuple[Tensor, Tensor]:
    """Return which of ordered boxes (groups, n, 4) stay, and how many, of which the first `there` are boxes at all."""
    groups, total = boxes.shape[:2]
    words = -(-total // BITS.value)
    bits = torch.empty(groups, total, words, dtype=torch.int64, device=boxes.device)
    chosen = torch.zeros(groups, count, dtype=torch.int64, device=boxes.device)
    found = torch.empty(groups, dtype=torch.int64, device=boxes.device)
    # Without fused products the numbers are those of the host.
    grid = (-(-total // ROWS), words, groups)
    _compare[grid](boxes.contiguous(), bits, overlap, total, words, ROWS, enable_fp_fusion=False)
    padded = triton.next_power_of_2(words)
    _choose[(groups,)](bits, there, chosen, found, total, words, count, padded, num_warps=1)
    return chosen, found


@triton.jit
def _compare(boxes, bits, overlap, total, words, ROWS: constexpr):
    """Write a bit for each pair of a row and a later one that overlap too much."""
    first, word, group = tl.program_id(0) * ROWS, tl.program_id(1), tl.program_id(2).to(tl.int64)
    if word * BITS + BITS > first:  # earlier words of a row are never asked for
        row, column = first + tl.arange(0, ROWS), word * BITS + tl.arange(0, BITS)
        own = boxes + group * total * 4
        left, top, right, bottom, area = _load(own, row, total)
        others_left, others_top, others_right, others_bottom, others_area = _load(own, column, total)
        width = tl.minimum(right[:, None], others_right[None]) - tl.maximum(left[:, None], others_left[None])
        height = tl.minimum(bottom[:, None], others_bottom[None]) - tl.maximum(top[:, None], others_top[None])
        shared = tl.maximum(width, 0.0) * tl.maximum(height, 0.0)
        share = tl.div_rn(shared, area[:, None] + others_area[None] - shared)
        above = (share > overlap) & (column[None] > row[:, None]) & (column[None] < total)
        packed = tl.sum(above.to(tl.int64) << tl.arange(0, BITS).to(tl.int64)[None], 1)
        tl.store(bits + (group * total + row) * words + word, packed, mask=row < total)


@triton.jit
def _load(boxes, row, total):
    """Return the edges of boxes, and their areas."""
    inside = row < total
    left = tl.load(boxes + row * 4, mask=inside, other=0.0)
    top = tl.load(boxes + row * 4 + 1, mask=inside, other=0.0)
    right = tl.load(boxes + row * 4 + 2, mask=inside, other=0.0)
    bottom = tl.load(boxes + row * 4 + 3, mask=inside, other=0.0)
    return left, top, right, bottom, (right - left) * (bottom - top)


@triton.jit
def _choose(bits, there, chosen, found, total, words, count, WORDS: constexpr):
    """Keep every box that none kept before it overlaps too much."""
    group = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, WORDS)
    removed = tl.zeros([WORDS], tl.int64)
    boxes = tl.load(there + group).to(tl.int32)
    kept = tl.full((), 0, tl.int32)
    for word in range(tl.cdiv(boxes, BITS)):
        if kept < count:
            current = tl.sum(tl.where(lane == word, removed, 0), 0)
            for bit in range(tl.minimum(BITS, boxes - word * BITS)):
                if (((current >> bit) & 1) == 0) & (kept < count):
                    row = word * BITS + bit
                    tl.store(chosen + group * count + kept, row.to(tl.int64))
                    kept += 1
                    line = bits + (group * total + row) * words
                    current |= tl.load(line + word)
                    removed |= tl.load(line + lane, mask=(lane > word) & (lane < words), other=0)
    tl.store(found + group, kept.to(tl.int64))
