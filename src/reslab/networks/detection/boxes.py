"""Boxes as tensors (..., 4): left, top, right, bottom at the edges of pixels, so a box's width is right - left.

Coding is Faster R-CNN's: how far a box's centre lies from that of an anchor in the anchor's sides, and the logarithm
of how much larger it is.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

MOST_GROWTH = math.log(1000 / 16)  # of a side, as a logarithm: more would overflow


def areas(boxes: Tensor) -> Tensor:
    """Return the area of each box (..., 4)."""
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def intersections(boxes: Tensor, others: Tensor) -> Tensor:
    """Return the area that each of `boxes` (..., n, 4) shares with each of `others` (..., m, 4)."""
    first, second = boxes[..., :, None, :], others[..., None, :, :]
    width = torch.minimum(first[..., 2], second[..., 2]) - torch.maximum(first[..., 0], second[..., 0])
    height = torch.minimum(first[..., 3], second[..., 3]) - torch.maximum(first[..., 1], second[..., 1])
    return width.clamp(min=0) * height.clamp(min=0)


def overlaps(boxes: Tensor, others: Tensor) -> Tensor:
    """Return intersection over union (..., n, m); zero where neither box has an area."""
    shared = intersections(boxes, others)
    union = areas(boxes)[..., :, None] + areas(others)[..., None, :] - shared
    return torch.where(union > 0, shared / union, 0)


def encode(boxes: Tensor, anchors: Tensor, weights: Sequence[float] = (1, 1, 1, 1)) -> Tensor:
    """Return what leads from anchors to boxes, times `weights`; nothing but finite numbers, whatever the boxes are."""
    sides, anchor_sides = ((each[..., 2:] - each[..., :2]).clamp(min=1e-6) for each in (boxes, anchors))
    centres, anchor_centres = ((each[..., 2:] + each[..., :2]) / 2 for each in (boxes, anchors))
    moved, grown = (centres - anchor_centres) / anchor_sides, (sides / anchor_sides).log()
    parts = (moved[..., 0], moved[..., 1], grown[..., 0], grown[..., 1])
    return torch.stack([part * weight for part, weight in zip(parts, weights, strict=True)], dim=-1)


def decode(codes: Tensor, anchors: Tensor, weights: Sequence[float] = (1, 1, 1, 1)) -> Tensor:
    """Return the boxes that codes lead to from anchors; no side grows more than 62.5-fold."""
    sides, centres = anchors[..., 2:] - anchors[..., :2], (anchors[..., 2:] + anchors[..., :2]) / 2
    x, y, width, height = (codes[..., index] / weight for index, weight in enumerate(weights))
    moved = torch.stack([x, y], dim=-1) * sides + centres
    half = torch.stack([width, height], dim=-1).clamp(max=MOST_GROWTH).exp() * sides / 2
    return torch.cat([moved - half, moved + half], dim=-1)


def clip(boxes: Tensor, frames: Tensor) -> Tensor:
    """Return boxes cut off at the edges of frames, which broadcast against them."""
    low, high = frames[..., :2], frames[..., 2:]
    corners = boxes.unflatten(-1, (2, 2))
    return torch.minimum(torch.maximum(corners, low[..., None, :]), high[..., None, :]).flatten(-2)


def are_inside(boxes: Tensor, frames: Tensor) -> Tensor:
    """Return of each box whether no part of it is outside its frame."""
    return ((boxes[..., :2] >= frames[..., :2]) & (boxes[..., 2:] <= frames[..., 2:])).all(-1)


def are_large(boxes: Tensor, side: float) -> Tensor:
    """Return of each box whether both sides are at least so long."""
    return ((boxes[..., 2:] - boxes[..., :2]) >= side).all(-1)
