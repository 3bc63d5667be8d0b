"""The gather against a loop that crops, flips and subtracts one image at a time."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from reslab.data.arrays.order import Sampler
from reslab.data.arrays.resident import Preparation, ResidentBatches, per_pixel_mean
from reslab.data.arrays.split import ArraySplit
from reslab.errors import UserError
from reslab.spec.augmentation import Edges

generator = np.random.default_rng(0)
SPLIT = ArraySplit(
    generator.integers(0, 256, (20, 3, 8, 8), dtype=np.uint8), generator.integers(0, 10, 20, dtype=np.uint8)
)


def test_the_mean_is_per_pixel() -> None:
    """White is one."""
    mean = per_pixel_mean(SPLIT, brightest=255)
    assert np.allclose(mean, SPLIT.images.astype(float).mean(0) / 255, atol=1e-6)


@pytest.mark.parametrize("cutout", [0, 3])
@pytest.mark.parametrize("edges", ["zero", "reflect"])
@pytest.mark.parametrize("mean_first", [True, False])
def test_a_batch_is_crop_of_padded_difference(mean_first: bool, edges: Edges, cutout: int) -> None:
    """x - mean, zeros or its reflection around it, a crop, perhaps flipped; or the mean subtracted last of all.

    A hole is cut into what came of it.
    """
    mean = per_pixel_mean(SPLIT, brightest=255)
    preparation = Preparation(mean=mean, brightest=255, padding=2, mean_first=mean_first, edges=edges, cutout=cutout)
    batches = ResidentBatches(SPLIT, preparation, device="cpu")
    draw = Sampler(count=20, seed=1, padding=2, flip=True, hole_places=9 - cutout).draw(0, 16)
    mode = {"zero": "constant", "reflect": "reflect"}[edges]
    images, labels = batches.augmented(draw)
    for row, index in enumerate(draw.indices):
        first, last = (mean, np.float32(0)) if mean_first else (np.float32(0), mean)
        padded = np.pad(SPLIT.images[index] / 255 - first, ((0, 0), (2, 2), (2, 2)), mode=mode)
        expected = padded[:, draw.tops[row] : draw.tops[row] + 8, draw.lefts[row] : draw.lefts[row] + 8]
        if draw.flips[row]:
            expected = expected[:, :, ::-1]
        expected = expected - last
        top, left = draw.hole_tops[row], draw.hole_lefts[row]
        expected[:, top : top + cutout, left : left + cutout] = 0
        assert np.allclose(images[row].numpy(), expected, atol=1e-6)
        assert labels[row] == SPLIT.targets[index]


def test_plain_images_are_the_whole_ones() -> None:
    """Testing sees the single original view."""
    mean = per_pixel_mean(SPLIT, brightest=255)
    batches = ResidentBatches(SPLIT, Preparation(mean=mean, brightest=255, padding=2), device="cpu")
    images, labels = batches.plain(5, 9)
    assert torch.allclose(images, torch.from_numpy(SPLIT.images[5:9] / 255 - mean).float(), atol=1e-6)
    assert labels.tolist() == SPLIT.targets[5:9].tolist()


def test_what_does_not_fit_the_images_is_refused() -> None:
    """A reflection wider than the image, a hole larger than it."""
    mean = per_pixel_mean(SPLIT, brightest=255)
    with pytest.raises(UserError, match=r"padding is 8, but the images are 8 pixels wide; edges=reflect needs"):
        Preparation(mean=mean, brightest=255, padding=8, edges="reflect")
    with pytest.raises(UserError, match=r"cutout is 9, but the images are 8 pixels wide"):
        Preparation(mean=mean, brightest=255, cutout=9)
