"""Crops: the paper's and the common one, and that what is known of an image moves with its pixels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reslab.data.geometry import Box, Geometry, choose_box, cut, resized_box, shorter_side_box
from reslab.runtime.randomness import Stream, numbers_for
from reslab.spec.augmentation import AugmentationSpec

HEIGHT, WIDTH = 48, 64


def bounds(marked: np.ndarray) -> list[int]:
    """Return the box around what is marked."""
    rows, columns = np.nonzero(marked)
    return [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]


@st.composite
def marked_crops(draw: st.DrawFn) -> tuple[list[int], Geometry]:
    """A mark of six pixels or more, and a crop that has all of it, half as large as it was or larger."""
    mark, box = [], []
    for length in (WIDTH, HEIGHT):
        size = draw(st.integers(6, 12))
        first = draw(st.integers(0, length - size))
        mark.append((first, first + size))
        box.append((draw(st.integers(0, first)), draw(st.integers(first + size, length))))
    (left, right), (top, bottom) = mark
    geometry = Geometry(
        (box[0][0], box[1][0], box[0][1], box[1][1]), draw(st.integers(32, 80)), flip=draw(st.booleans())
    )
    return [left, top, right, bottom], geometry


@given(marked_crops())
def test_an_image_its_boxes_and_its_mask_move_alike(drawn: tuple[list[int], Geometry]) -> None:
    """What is marked in the picture is where its box and its mask say, but for what falls between pixels."""
    (left, top, right, bottom), geometry = drawn
    mask = np.zeros((HEIGHT, WIDTH), np.int64)
    mask[top:bottom, left:right] = 1
    pixels = np.repeat(255 * mask[..., None], 3, axis=2).astype(np.uint8)
    crop = geometry.flip_image(cut(pixels, geometry.box, width=WIDTH, height=HEIGHT, side=geometry.side))
    (box,) = geometry.move_boxes(np.array([[left, top, right, bottom]]))
    moved = geometry.move_mask(mask)
    assert moved.shape == crop.shape[:2] == (geometry.side, geometry.side)
    assert np.abs(box - bounds(moved)).max() <= 0.5 + 1e-9
    assert np.abs(box - bounds(crop[..., 0] >= 128)).max() <= 1
    corners = geometry.move_points(np.array([[left, top], [right, bottom]]))
    assert np.allclose(np.sort(corners, axis=0).ravel(), box)


@pytest.mark.parametrize("flip", [False, True])
def test_a_crop_that_changes_no_size_takes_the_pixels_as_they_are(flip: bool) -> None:
    """Of the image and of a mask, mirrored alike; mirrored again they are what they were."""
    mask = np.arange(HEIGHT * WIDTH).reshape(HEIGHT, WIDTH) % 251
    pixels = np.repeat(mask[..., None], 3, axis=2).astype(np.uint8)
    geometry = Geometry((10, 5, 30, 25), 20, flip)
    crop = geometry.flip_image(cut(pixels, geometry.box, width=WIDTH, height=HEIGHT, side=20))
    expected = mask[5:25, 10:30]
    assert np.array_equal(crop[..., 0], expected[:, ::-1] if flip else expected)
    assert np.array_equal(geometry.move_mask(mask), crop[..., 0])
    assert np.array_equal(geometry.flip_image(crop)[..., 0], expected)


def test_points_and_boxes_outside_a_crop() -> None:
    """Points go on being where they are; boxes are cut off at its edges, and those outside have no area."""
    geometry = Geometry((10, 20, 30, 40), 40)
    points = np.array([[[10, 20], [30, 40]], [[5, 45], [20, 30]]])
    assert geometry.move_points(points).tolist() == [[[0, 0], [40, 40]], [[-10, 50], [20, 20]]]
    mirrored = replace(geometry, flip=True)
    assert mirrored.move_points(points).tolist() == [[[40, 0], [0, 40]], [[50, 50], [20, 20]]]
    boxes = np.array([[0, 25, 20, 100], [0, 0, 9, 60], [12, 22, 14, 24]])
    assert geometry.move_boxes(boxes).tolist() == [[0, 10, 20, 40], [0, 0, 0, 40], [4, 4, 8, 8]]
    assert mirrored.move_boxes(boxes).tolist() == [[20, 10, 40, 40], [40, 0, 40, 40], [32, 4, 36, 8]]


def test_an_image_decoded_smaller_is_cut_at_the_same_place() -> None:
    """The box is in the pixels of the file; a box of less than a pixel still has one."""
    pixels = np.random.default_rng(0).integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)
    whole = cut(pixels, (8, 4, 40, 36), width=WIDTH, height=HEIGHT, side=16)
    assert np.array_equal(cut(pixels, (16, 8, 80, 72), width=2 * WIDTH, height=2 * HEIGHT, side=16), whole)
    tiny = cut(pixels, (16.1, 8.1, 16.4, 8.4), width=2 * WIDTH, height=2 * HEIGHT, side=2)
    assert np.array_equal(tiny, np.broadcast_to(pixels[4, 8], (2, 2, 3)))


@pytest.mark.parametrize("crop", ["shorter-side", "resized"])
def test_the_recipe_says_which_crop(crop: str) -> None:
    """With its own sides or areas, and the numbers of whoever draws."""
    augmentation = AugmentationSpec(crop=crop, sides=(300, 400), areas=(0.5, 0.6))  # pyright: ignore[reportArgumentType]

    def draw() -> Box:
        random = numbers_for(Stream.CROP, seed=1, item=3)
        if crop == "shorter-side":
            return shorter_side_box(random, 500, 375, sides=(300, 400), crop=96)
        return resized_box(random, 500, 375, areas=(0.5, 0.6))

    random = numbers_for(Stream.CROP, seed=1, item=3)
    assert choose_box(random, augmentation, size=(500, 375), side=96) == draw()


@pytest.mark.parametrize(("width", "height"), [(500, 375), (375, 500), (300, 300)])
@pytest.mark.parametrize("crop", [224, 64])
def test_the_papers_crop(width: int, height: int, crop: int) -> None:
    """The image as if its shorter side were 256 to 480, whatever it is; square, inside, everywhere."""
    random = numbers_for(Stream.CROP, seed=1)
    boxes = np.array([shorter_side_box(random, width, height, sides=(256, 480), crop=crop) for _ in range(2000)])
    sides = boxes[:, 2] - boxes[:, 0]
    assert np.allclose(sides, boxes[:, 3] - boxes[:, 1])
    assert boxes.min() >= 0
    assert boxes[:, 2].max() <= width + 1e-9
    assert boxes[:, 3].max() <= height + 1e-9
    shorter = 224 * min(width, height) / sides  # the shorter side at which the crop is one of 224
    assert 255.9 < shorter.min() < 258
    assert 478 < shorter.max() < 480.1
    assert abs(shorter.mean() - 368) < 6
    assert boxes[:, 0].max() > 0.5 * (width - sides.max())


def test_the_common_crop_is_torchvisions() -> None:
    """The same areas and aspects, in distribution."""
    import torch
    from torchvision.transforms import RandomResizedCrop

    random = numbers_for(Stream.CROP, seed=1)
    boxes = np.array([resized_box(random, 500, 375, areas=(0.08, 1.0)) for _ in range(4000)])
    across, down = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    torch.manual_seed(0)
    image = torch.empty(3, 375, 500)
    theirs = np.array([RandomResizedCrop.get_params(image, [0.08, 1.0], [3 / 4, 4 / 3]) for _ in range(4000)])
    for ours, other in (
        (across * down, theirs[:, 2] * theirs[:, 3]),
        (across / down, theirs[:, 3] / theirs[:, 2]),
        (boxes[:, 0], theirs[:, 1]),
        (boxes[:, 1], theirs[:, 0]),
    ):
        quantiles = np.linspace(0.1, 0.9, 9)
        spread = np.quantile(other, 0.9) - np.quantile(other, 0.1)
        assert np.abs(np.quantile(ours, quantiles) - np.quantile(other, quantiles)).max() < 0.06 * spread


def test_where_no_part_fits_it_is_the_largest_in_the_middle() -> None:
    """A panorama cannot give nearly all of its area at a near-square aspect."""
    random = numbers_for(Stream.CROP, seed=1)
    left, top, right, bottom = resized_box(random, 1000, 100, areas=(0.99, 1.0))
    assert (top, bottom) == (0, 100)
    assert right - left == pytest.approx(400 / 3)
    assert left == pytest.approx(1000 - right)
