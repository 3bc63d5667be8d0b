"""Targets: as many boxes as there are, moved with their images, and in batches of one shape."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from PIL import Image

from reslab.data.geometry import Geometry
from reslab.data.photos.crops import TrainingCrops
from reslab.data.photos.folder import PhotoSplit
from reslab.data.reading import read_in_order
from reslab.data.targets import as_tensor, move_target, stack_rows
from reslab.spec.augmentation import AugmentationSpec
from reslab.spec.boxes import ABSENT, CLASS, FRAME

ROWS = [
    np.array([[2, 2, 6, 4, 1, 0, 8], [8, 0, 12, 6, 0, 1, 24]]),
    np.empty((0, 7)),
    np.array([[0, 0, 3, 3, 2, 0, 9]]),
]


def test_images_have_any_number_of_rows() -> None:
    """One array has room for the most; other rows are of no class. An index is as of an array of all."""
    targets = stack_rows(ROWS)
    whole = np.asarray(targets)
    assert (targets.shape, targets.ndim, len(targets)) == (whole.shape, 3, 3)
    assert whole.shape == (3, 2, 7)
    assert (whole[0] == ROWS[0]).all()
    assert (whole[1] == ABSENT).all()
    assert whole[2, :, CLASS].tolist() == [2, ABSENT]
    assert targets.any()
    assert stack_rows([]).shape == (0, 0, 7)


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=9),
    st.one_of(
        st.integers(-9, 8),
        st.slices(9),
        st.lists(st.integers(-9, 8), max_size=6).map(lambda numbers: np.array(numbers, np.int64)),
    ),
)
def test_rows_are_indexed_as_an_array_is(counts: list[int], index: Any) -> None:
    """One image, a stretch, or any in any order; a part keeps the room of the whole, and is the same in processes."""
    rows = [np.arange(7 * count, dtype=np.float32).reshape(-1, 7) + place for place, count in enumerate(counts)]
    targets = stack_rows(rows, room=5)
    whole = np.asarray(targets)
    assert targets.count().tolist() == counts
    assert all(np.array_equal(targets.of(place), own) for place, own in enumerate(rows))
    if not isinstance(index, slice):
        assume(np.all((np.asarray(index) < len(counts)) & (np.asarray(index) >= -len(counts))))
    expected = whole[index]
    assert np.array_equal(targets[index], expected)
    assert np.array_equal(targets.share()[index], expected)
    if expected.ndim == 3:
        assert np.array_equal(np.asarray(targets.take(index)), expected)


def test_rows_go_with_the_crop() -> None:
    """Halved, flipped, cut off at its edge; what is outside is absent, and what is left comes first; marks stay."""
    geometry = Geometry((6, 0, 14, 8), 4, flip=True)
    moved = move_target("boxes", stack_rows(ROWS)[0], geometry)
    assert moved.tolist() == [[1, 0, 3, 3, 0, 1, 24], [ABSENT] * 7]


def test_frames_are_those_of_what_is_left() -> None:
    """The whole image, resized: its frame reaches as far, and still says what was stored."""
    frame = np.array([[0, 0, 60, 40, FRAME, 60, 40], [6, 4, 12, 8, 1, 0, 24]], np.float32)
    moved = move_target("boxes", frame, Geometry((0, 0, 60, 40), (90, 20), flip=True))
    assert moved.tolist() == [[0, 0, 90, 20, FRAME, 60, 40], [72, 2, 81, 4, 1, 0, 24]]


def test_masks_go_with_the_crop_and_classes_stay() -> None:
    """A mask's pixels are those of the nearest."""
    mask, geometry = np.arange(16).reshape(4, 4), Geometry((2, 0, 4, 2), 2, flip=True)
    assert move_target("mask", mask, geometry).tolist() == [[3, 2], [7, 6]]
    labels = np.array([0, 1, 1])
    assert move_target("labels", labels, geometry) is labels


def test_whole_numbers_become_wide_and_boxes_stay() -> None:
    """As cross-entropy and boxes want them."""
    assert as_tensor(np.array([1, 2], np.uint8)).dtype == torch.int64
    assert as_tensor(stack_rows(ROWS)).dtype == torch.float32


def test_batches_have_boxes_where_the_crops_have_objects(tmp_path: Path) -> None:
    """A white object on black is where its box says, in every crop that has all of it."""
    boxes = []
    for number in range(3):
        pixels = np.zeros((60, 90, 3), np.uint8)
        left, top = 20 + 10 * number, 15 + 5 * number
        pixels[top : top + 20, left : left + 24] = 255
        Image.fromarray(pixels).save(tmp_path / f"{number}.png")
        boxes.append(np.array([[left, top, left + 24, top + 20, number, 0, 480]]))
    targets = np.asarray(stack_rows(boxes))
    split = PhotoSplit(tmp_path, ("0.png", "1.png", "2.png"), targets)
    crops = TrainingCrops(split, AugmentationSpec(crop="resized", areas=(0.5, 1.0)), seed=3, target="boxes")
    decoded = crops[48, [(epoch, image) for epoch in range(4) for image in range(3)]]
    assert decoded.targets.shape == (12, 1, 7)
    for pixels, ((left, top, right, bottom, kind, *_),) in zip(decoded.pixels, decoded.targets.tolist(), strict=True):
        rows, columns = (pixels[..., 0] > 127).nonzero().unbind(1)
        found = torch.stack([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1])
        assert torch.allclose(found.float(), torch.tensor([left, top, right, bottom]), atol=1.01)
        assert kind in (0, 1, 2)
    (batch,) = read_in_order(split, 3)
    assert torch.equal(batch.targets, torch.from_numpy(targets))
