"""Anchors: at every step of a map, boxes of several sizes and shapes that the proposed regions are coded against.

Faster R-CNN's lie in the middle of a step. Their shapes are rounded to whole pixels for a square as large as the
stride, and then enlarged: 128 pixels at one to two are 184 by 96. torchvision's lie at a step's first corner.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from reslab.spec.detection import AnchorForm


def make_shapes(form: AnchorForm, *, sides: Sequence[float], ratios: Sequence[float], stride: int) -> Tensor:
    """Return the anchors of one step (ratios x sides, 4), around 0, 0."""
    ratio, side = (each.ravel() for each in np.meshgrid(ratios, sides, indexing="ij"))
    if form == "torchvision":
        root = np.sqrt(ratio.astype(np.float32))
        half = np.stack([side / root, side * root], axis=1).astype(np.float32) / 2
        corners = np.concatenate([-half, half], axis=1).round()
    else:
        width = np.sqrt(stride**2 / ratio).round()
        sizes = np.stack([width, (width * ratio).round()], axis=1) * (side / stride)[:, None]
        corners = np.concatenate([-sizes, sizes], axis=1) / 2
    return torch.from_numpy(corners.astype(np.float32))


def place_anchors(
    shapes: Tensor, form: AnchorForm, *, grid: tuple[int, int], stride: int, padded: tuple[int, int]
) -> tuple[Tensor, Tensor]:
    """Return the anchors of a map of `grid` (height, width), and where their steps begin (x, y), row by row.

    `padded` is the size of the images, by which torchvision computes its strides.
    """
    down, across = (side // steps for side, steps in zip(padded, grid, strict=True))
    if form == "original":
        down = across = stride
    y = torch.arange(grid[0], device=shapes.device, dtype=torch.float32) * down
    x = torch.arange(grid[1], device=shapes.device, dtype=torch.float32) * across
    starts = torch.stack(torch.meshgrid(x, y, indexing="xy"), dim=-1).reshape(-1, 2)
    centres = starts + stride / 2 if form == "original" else starts
    anchors = centres.repeat(1, 2)[:, None] + shapes
    return anchors.flatten(0, 1), starts.repeat_interleave(len(shapes), 0)
