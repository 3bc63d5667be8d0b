"""Targets: as many boxes as there are, moved with their images, and in batches of one shape."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from PIL import Image

from reslab.data.geometry import Geometry
from reslab.data.photos.crops import TrainingCrops
from reslab.data.photos.folder import PhotoSplit
from reslab.data.reading import read_in_order
from reslab.data.targets import ABSENT, as_tensor, move_target, stack_boxes
from reslab.spec.recipe import AugmentationSpec

BOXES = [np.array([[2, 2, 6, 4, 1], [8, 0, 12, 6, 0]]), np.empty((0, 5)), np.array([[0, 0, 3, 3, 2]])]


def test_images_have_any_number_of_boxes() -> None:
    """One array has room for the most; other rows are of no class."""
    stacked = stack_boxes(BOXES)
    assert stacked.shape == (3, 2, 5)
    assert (stacked[0] == BOXES[0]).all()
    assert (stacked[1] == ABSENT).all()
    assert stacked[2, :, 4].tolist() == [2, ABSENT]
    assert stack_boxes([]).shape == (0, 0, 5)


def test_boxes_go_with_the_crop() -> None:
    """Halved, flipped, cut off at its edge; what is outside is absent, and what is left comes first."""
    geometry = Geometry((6, 0, 14, 8), 4, flip=True)
    moved = move_target("boxes", stack_boxes(BOXES)[0], geometry)
    assert moved.tolist() == [[1, 0, 3, 3, 0], [ABSENT] * 5]


def test_masks_go_with_the_crop_and_classes_stay() -> None:
    """A mask's pixels are those of the nearest."""
    mask, geometry = np.arange(16).reshape(4, 4), Geometry((2, 0, 4, 2), 2, flip=True)
    assert move_target("mask", mask, geometry).tolist() == [[3, 2], [7, 6]]
    labels = np.array([0, 1, 1])
    assert move_target("labels", labels, geometry) is labels


def test_whole_numbers_become_wide_and_boxes_stay() -> None:
    """As cross-entropy and boxes want them."""
    assert as_tensor(np.array([1, 2], np.uint8)).dtype == torch.int64
    assert as_tensor(stack_boxes(BOXES)).dtype == torch.float32


def test_batches_have_boxes_where_the_crops_have_objects(tmp_path: Path) -> None:
    """A white object on black is where its box says, in every crop that has all of it."""
    boxes = []
    for number in range(3):
        pixels = np.zeros((60, 90, 3), np.uint8)
        left, top = 20 + 10 * number, 15 + 5 * number
        pixels[top : top + 20, left : left + 24] = 255
        Image.fromarray(pixels).save(tmp_path / f"{number}.png")
        boxes.append(np.array([[left, top, left + 24, top + 20, number]]))
    split = PhotoSplit(tmp_path, ("0.png", "1.png", "2.png"), stack_boxes(boxes))  # pyright: ignore[reportArgumentType]
    crops = TrainingCrops(split, AugmentationSpec(crop="resized", areas=(0.5, 1.0)), seed=3, target="boxes")
    decoded = crops[48, [(epoch, image) for epoch in range(4) for image in range(3)]]
    assert decoded.targets.shape == (12, 1, 5)
    for pixels, ((left, top, right, bottom, kind),) in zip(decoded.pixels, decoded.targets.tolist(), strict=True):
        rows, columns = (pixels[..., 0] > 127).nonzero().unbind(1)
        found = torch.stack([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1])
        assert torch.allclose(found.float(), torch.tensor([left, top, right, bottom]), atol=1.01)
        assert kind in (0, 1, 2)
    (batch,) = read_in_order(split, 3)
    assert torch.equal(batch.targets, torch.from_numpy(stack_boxes(boxes)))
