"""Images as networks want them, against torchvision and by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest
import torch
import torchvision.transforms.v2.functional as theirs
from torchvision.transforms import InterpolationMode

from reslab.data.preprocessing import WHITE, centre_pixels, preprocess_images, scale_images
from reslab.errors import UserError
from reslab.spec import Preprocess
from reslab.spec.preprocess import AUTHORS, PER_PIXEL_MEAN, TORCHVISION, TORCHVISION_EFFICIENTNET

IMAGES = torch.randint(0, 256, (2, 3, 40, 61), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
MODES = {"bilinear": InterpolationMode.BILINEAR, "bicubic": InterpolationMode.BICUBIC}


@pytest.mark.parametrize("preprocess", [TORCHVISION, TORCHVISION_EFFICIENTNET, Preprocess(resize=23, crop=22)], ids=str)
def test_resized_and_cropped_as_torchvision_does(preprocess: Preprocess) -> None:
    """Shorter side, antialiasing, centre crop, normalization: to rounding, up and down."""
    assert preprocess.resize is not None
    assert preprocess.crop is not None
    x = theirs.resize(IMAGES / 255, [preprocess.resize], interpolation=MODES[preprocess.interpolation], antialias=True)
    x = theirs.center_crop(x.clamp(0, 1), [preprocess.crop])  # which it does to bytes alone
    x = theirs.normalize(x, list(preprocess.mean) * (3 // len(preprocess.mean)), list(preprocess.std * 3)[:3])
    ours = preprocess_images(IMAGES, preprocess, brightest=255)
    assert ours.shape == x.shape
    assert torch.allclose(ours, x, atol=1e-6)


@pytest.mark.parametrize("pixel_range", ["0-1", "0-255"])
@pytest.mark.parametrize("resize", [23, 77])
def test_bicubic_pixels_stay_pixels(resize: int, pixel_range: Literal["0-1", "0-255"]) -> None:
    """None is darker than black or lighter than white, though bicubic interpolation overshoots at edges."""
    white = WHITE[pixel_range]
    preprocess = Preprocess(resize=resize, interpolation="bicubic", pixel_range=pixel_range)
    edges = torch.zeros(1, 3, 40, 61, dtype=torch.uint8)
    edges[..., 11:40] = 255
    ours = scale_images(edges, preprocess, brightest=255)
    assert (float(ours.min()), float(ours.max())) == (0, white)
    shown = preprocess_images(edges, replace(preprocess, crop=20), brightest=255)
    assert 0 <= float(shown.min()) <= float(shown.max()) <= white


def test_the_authors_want_blue_first_and_up_to_255() -> None:
    """A pure red pixel ends in the last channel, less the authors' red mean; other whites are scaled to 255."""
    red = torch.zeros(1, 3, 4, 4, dtype=torch.uint8)
    red[:, 0] = 16
    preprocess = Preprocess(channel_order="BGR", pixel_range="0-255", mean=AUTHORS.mean, std=AUTHORS.std)
    pixel = preprocess_images(red, preprocess, brightest=16)[0, :, 0, 0]
    assert torch.allclose(pixel, torch.tensor([-103.0626, -115.9029, 255 - 123.1516]))


def test_a_mean_image_is_subtracted_pixel_by_pixel() -> None:
    """To the bit what the training batches are."""
    mean = torch.rand(3, 40, 61)
    assert torch.equal(preprocess_images(IMAGES, PER_PIXEL_MEAN, brightest=255, mean_image=mean), IMAGES / 255 - mean)


def test_of_a_mean_image_of_another_size_its_channels_averages_are() -> None:
    """Whether images are cropped to another size, resized, or come in it (the paper's tests at many sizes)."""
    mean = torch.rand(3, 16, 16)
    for fields in ({"crop": 32}, {"resize": 20, "crop": 18}, {"resize": 16}, {}):
        plain = preprocess_images(IMAGES, Preprocess(**fields), brightest=255)
        centred = preprocess_images(IMAGES, Preprocess(per_pixel_mean=True, **fields), brightest=255, mean_image=mean)
        assert torch.allclose(centred, plain - mean.mean((1, 2))[:, None, None], atol=1e-6)


@pytest.mark.parametrize("side", [40, 16])
@pytest.mark.parametrize("preprocess", [TORCHVISION, PER_PIXEL_MEAN, Preprocess(std=(0.3,), per_pixel_mean=True)])
def test_centring_in_place_gives_the_same_bits(preprocess: Preprocess, side: int) -> None:
    """In the batch it was given."""
    pixels, mean = IMAGES[..., :40] / 255, torch.rand(3, side, side)
    centred = centre_pixels(pixels, preprocess, mean_image=mean)
    assert not torch.equal(centred, pixels)
    assert centre_pixels(pixels, preprocess, mean_image=mean, in_place=True) is pixels
    assert torch.equal(centred, pixels)


@pytest.mark.parametrize(
    ("preprocess", "mean_image", "sentence"),
    [
        (PER_PIXEL_MEAN, None, "have no mean image"),
        (PER_PIXEL_MEAN, torch.zeros(1, 40, 61), "the mean image has 1 channels, but the images have 3"),
        (Preprocess(crop=41), None, "crop is 41, but the images are 40x61"),
        (Preprocess(mean=(0.0, 0.0), std=(1.0, 1.0)), None, "mean has 2 values, but the images have 3 channels"),
    ],
)
def test_what_does_not_fit_is_told(preprocess: Preprocess, mean_image: torch.Tensor | None, sentence: str) -> None:
    """With both numbers."""
    with pytest.raises(UserError, match=sentence):
        preprocess_images(IMAGES, preprocess, brightest=255, mean_image=mean_image)
