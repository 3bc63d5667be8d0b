"""What an exported detector names as one step each, where sizes depend on the image or the host decides: no arithmetic.

Only the shapes are said here. `delivery.detection_operators` says what each is in ONNX. Unlike the functions they stand
for, they have `count` rows even where there are fewer, so that no later shape depends on how large an image is.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

RANK, SUPPRESS, POOL_MAX, ALIGN = (f"reslab::{name}" for name in ("rank", "suppress", "pool_max", "align"))

torch.library.define(RANK, "(Tensor scores, Tensor valid, int count) -> (Tensor, Tensor)")
torch.library.define(
    SUPPRESS, "(Tensor boxes, Tensor scores, Tensor valid, float overlap, int count) -> (Tensor, Tensor)"
)
torch.library.define(POOL_MAX, "(Tensor map, Tensor boxes, Tensor images, int stride, int side) -> Tensor")
torch.library.define(
    ALIGN,
    "(Tensor[] maps, Tensor boxes, Tensor images, Tensor? levels, int[] strides, int side, int samples, bool shifted)"
    " -> Tensor",
)


@torch.library.register_fake(RANK)
def _rank(scores: Tensor, valid: Tensor, count: int) -> tuple[Tensor, Tensor]:
    shape = (scores.shape[0], count)
    return scores.new_empty(shape, dtype=torch.int64), valid.new_empty(shape)


@torch.library.register_fake(SUPPRESS)
def _suppress(
    boxes: Tensor,
    scores: Tensor,
    valid: Tensor,
    overlap: float,
    count: int,
) -> tuple[Tensor, Tensor]:
    shape = (boxes.shape[0], count)
    return scores.new_empty(shape, dtype=torch.int64), valid.new_empty(shape)


@torch.library.register_fake(POOL_MAX)
def _pool_max(map: Tensor, boxes: Tensor, images: Tensor, stride: int, side: int) -> Tensor:
    return map.new_empty(boxes.shape[0], map.shape[1], side, side)


@torch.library.register_fake(ALIGN)
def _align(
    maps: Sequence[Tensor],
    boxes: Tensor,
    images: Tensor,
    levels: Tensor | None,
    strides: Sequence[int],
    side: int,
    samples: int,
    shifted: bool,
) -> Tensor:
    return maps[0].new_empty(boxes.shape[0], maps[0].shape[1], side, side)
