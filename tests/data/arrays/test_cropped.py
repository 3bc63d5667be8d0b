"""Parts of images resized as photographs' crops are, beside torch's own resizing; tests see what photographs' do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from reslab.data.arrays.cropped import CroppedBatches, describe_crops, resize_parts
from reslab.data.arrays.order import Sampler
from reslab.data.arrays.resident import Preparation, per_pixel_mean
from reslab.data.arrays.split import ArraySplit
from reslab.data.colour import find_shifts
from reslab.data.geometry import ShorterSides
from reslab.data.preprocessing import preprocess_images

SIDE = 16
generator = np.random.default_rng(0)
SPLIT = ArraySplit(
    generator.integers(0, 256, (30, 3, SIDE, SIDE), dtype=np.uint8), generator.integers(0, 10, 30, dtype=np.uint8)
)
PREPARATION = Preparation(mean=per_pixel_mean(SPLIT, brightest=255), brightest=255)
SAMPLER = Sampler(count=30, seed=3, flip=True, crops=ShorterSides((256, 480), SIDE))
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def make_batches(*, resident: bool = False, device: str = "cpu") -> CroppedBatches:
    return CroppedBatches(SPLIT, PREPARATION, resident=resident, device=device)


def test_a_part_is_a_crop_of_the_image_made_larger() -> None:
    """At whole places of an image of twice its size, mirrored or not."""
    images = torch.rand(4, 3, SIDE, SIDE)
    corners = [(0, 0), (3, 7), (16, 16), (1, 14)]
    larger = F.interpolate(images, size=(2 * SIDE, 2 * SIDE), mode="bilinear", align_corners=False, antialias=True)
    expected = [
        image[:, top : top + SIDE, left : left + SIDE] for image, (top, left) in zip(larger, corners, strict=True)
    ]
    expected[2] = expected[2].flip(-1)
    boxes = torch.tensor([(left / 2, top / 2, (left + SIDE) / 2, (top + SIDE) / 2) for top, left in corners])
    parts = resize_parts(images, boxes, flips=torch.tensor([False, False, True, False]))
    assert torch.allclose(parts, torch.stack(expected), atol=1e-6)


def test_a_whole_image_is_itself() -> None:
    """Where the drawn shorter side is that of the crop, or less."""
    images = torch.rand(2, 3, SIDE, SIDE)
    boxes = torch.tensor([[0.0, 0, SIDE, SIDE]] * 2)
    assert torch.allclose(resize_parts(images, boxes, flips=torch.tensor([False, False])), images, atol=1e-6)


def test_sides_are_the_papers_in_proportion() -> None:
    """Boxes lie within the image, and are as large a part of it as 224 is of a side from 256 to 480."""
    boxes = ShorterSides((256, 480), 64).draw(np.random.default_rng(1), 20_000)
    assert boxes.min() >= 0 and boxes.max() <= 64
    sides = boxes[:, 2:] - boxes[:, :2]
    assert np.allclose(sides[:, 0], sides[:, 1], atol=1e-4)
    shorter = 224 * 64 / sides[:, 0]
    assert shorter.min() == pytest.approx(256, abs=0.01) and shorter.max() == pytest.approx(480, abs=0.01)
    assert shorter.mean() == pytest.approx(368, abs=2)  # each whole side as often as any other
    whole = ShorterSides((200, 224), 64).draw(np.random.default_rng(1), 100)
    assert np.array_equal(whole, np.tile(np.float32([0, 0, 64, 64]), (100, 1)))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("colour", [0.0, 0.1])
def test_a_batch_is_drawn_parts_shifted_and_centred(colour: float, device: str) -> None:
    """The same from images on the device and beside it; targets come along."""
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no CUDA device")
    draw = replace(SAMPLER, colour=colour).draw(0, 12)
    (images, targets), (streamed, _) = (
        make_batches(resident=resident, device=device).augmented(draw) for resident in (True, False)
    )
    assert torch.equal(images, streamed)
    assert targets.tolist() == SPLIT.targets[draw.indices].tolist()
    pixels = torch.from_numpy(SPLIT.images[draw.indices]) / 255
    parts = resize_parts(pixels, torch.from_numpy(draw.boxes), flips=torch.from_numpy(draw.flips))
    if colour:
        parts += torch.from_numpy(find_shifts(draw.colours))[:, :, None, None]
    assert torch.allclose(images.cpu(), parts - make_batches().mean, atol=1e-5)


def test_shifts_of_colour_have_their_deviation() -> None:
    """Others for each image and epoch; the rest of a draw is as without."""
    plain, shifted = SAMPLER, replace(SAMPLER, colour=0.1)
    amounts = np.concatenate([shifted.draw_epoch(epoch).colours for epoch in range(100)])
    assert len(np.unique(amounts)) == amounts.size
    assert amounts.std() == pytest.approx(0.1, rel=0.05)
    assert np.array_equal(plain.draw_epoch(1).boxes, shifted.draw_epoch(1).boxes)
    assert np.array_equal(plain.draw_epoch(1).indices, shifted.draw_epoch(1).indices)


def test_a_test_sees_the_centre_of_what_is_resized() -> None:
    """As photographs are tested, less the mean of all images so prepared; a deployed network prepares them likewise."""
    batches = make_batches()
    images, targets = batches.plain(4, 9)
    prepare = describe_crops(SIDE)
    assert (prepare.resize, prepare.crop) == (18, SIDE)
    whole = preprocess_images(torch.from_numpy(SPLIT.images), replace(prepare, per_pixel_mean=False), brightest=255)
    assert torch.allclose(batches.mean, whole.mean(0), atol=1e-5)
    assert torch.allclose(images, whole[4:9] - whole.mean(0), atol=1e-5)
    assert targets.tolist() == SPLIT.targets[4:9].tolist()
