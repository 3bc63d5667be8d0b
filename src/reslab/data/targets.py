"""What is known of images, as one array a split, and how that moves with them: classes, labels, boxes, masks.

Boxes are rows of left, top, right, bottom and class. Images have any number of them; arrays, and so batches and what is
captured, have room for the most that any has, and the rows left over are of class `ABSENT`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reslab.data.geometry import Geometry
from reslab.spec.task import Target

ABSENT = -1


def stack_boxes(boxes: Sequence[NDArray[Any]]) -> NDArray[np.float32]:
    """Return the boxes of images (any number of rows each) as one array (images, most, 5)."""
    stacked = np.full((len(boxes), max(map(len, boxes), default=0), 5), ABSENT, np.float32)
    for rows, own in zip(stacked, boxes, strict=True):
        rows[: len(own)] = own
    return stacked


def move_target(kind: Target, target: NDArray[Any], geometry: Geometry) -> NDArray[Any]:
    """Return the target of an image as it is of a crop. A box that is not in the crop is absent from it."""
    if kind == "mask":
        return geometry.move_mask(target)
    if kind != "boxes":
        return target
    moved = np.concatenate([geometry.move_boxes(target[:, :4]), target[:, 4:]], axis=1, dtype=np.float32)
    seen = (target[:, 4] != ABSENT) & (moved[:, 0] < moved[:, 2]) & (moved[:, 1] < moved[:, 3])
    moved[~seen] = ABSENT
    return moved[np.argsort(~seen, kind="stable")]  # those that are there come first


def as_tensor(targets: NDArray[Any]) -> Tensor:
    """Return targets as losses and meters take them: whole numbers of 64 bits, boxes as they are."""
    tensor = torch.from_numpy(np.asarray(targets))
    return tensor if tensor.is_floating_point() else tensor.long()
