"""Bytes become centred floats; colours shift as AlexNet's; mixed images know their shares."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from reslab.data.photos.batches import PhotoBatches, mean_photo
from reslab.data.photos.decoding import read_pixels
from reslab.data.photos.folder import PhotoDataset
from reslab.data.photos.loading import prepare_photo
from reslab.data.photos.skipping import BadImages
from reslab.data.preprocessing import centre_pixels
from reslab.errors import UserError
from reslab.spec import Preprocess
from reslab.spec.recipe import AugmentationSpec

PREPROCESS = Preprocess(resize=28, crop=24, mean=(0.4, 0.5, 0.6), std=(0.2, 0.25, 0.3))
CROPS = AugmentationSpec(crop="resized")


def make(dataset: PhotoDataset, augmentation: AugmentationSpec = CROPS, **changes: Any) -> PhotoBatches:
    settings: dict[str, Any] = {
        "preprocess": PREPROCESS, "mean_image": None, "seed": 1, "batch": 6, "bad": BadImages(dataset), "device": "cpu",
    }  # fmt: skip
    return PhotoBatches(dataset, augmentation=augmentation, **settings | changes)


def test_pixels_are_centred_as_at_the_test(photos: PhotoDataset) -> None:
    """To the bit: by mean and deviation; by the mean image, or its mean colour for smaller crops."""
    batches = make(photos)
    images, labels = batches.load(0)
    decoded = batches.crops[24, batches.sampler.draw(0, 6)]
    pixels = decoded.pixels.permute(0, 3, 1, 2) / 255
    assert torch.equal(images, centre_pixels(pixels, PREPROCESS))
    assert torch.equal(labels, decoded.labels)
    mean_image = torch.rand(3, 24, 24)
    by_image = Preprocess(resize=28, crop=24, per_pixel_mean=True)
    images, _ = make(photos, preprocess=by_image, mean_image=mean_image).load(0)
    assert torch.equal(images, pixels - mean_image)
    images, _ = make(photos, preprocess=by_image, mean_image=mean_image, side=lambda step: 16).load(0)
    pixels = batches.crops[16, batches.sampler.draw(0, 6)].pixels.permute(0, 3, 1, 2) / 255
    assert torch.equal(images, centre_pixels(pixels, by_image, mean_image=mean_image))


def test_steps_may_be_asked_for_in_any_order(photos: PhotoDataset) -> None:
    """As a resumed run does."""
    batches = make(photos)
    first, second = batches.load(3), batches.load(4)
    assert torch.equal(batches.load(3)[0], first[0])
    assert torch.equal(make(photos).load(4)[0], second[0])


def test_colours_shift_along_the_principal_components(photos: PhotoDataset) -> None:
    """One shift an image, the same for all its pixels; over many, their covariance is ImageNet's, scaled."""
    plain, _ = make(photos).load(0)
    shifted, _ = make(photos, replace(CROPS, colour=0.1)).load(0)
    difference = (shifted - plain) * torch.tensor(PREPROCESS.std)[:, None, None]
    assert difference.std((2, 3)).max() < 1e-6
    many = make(photos, replace(CROPS, colour=0.1), batch=16)
    none = make(photos, batch=16)
    shifts = [((many.load(step)[0] - none.load(step)[0])[:, :, 0, 0]).numpy() * PREPROCESS.std for step in range(40)]
    vectors = np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]])
    expected = vectors @ np.diag(np.square([0.02175, 0.00188, 0.00045])) @ vectors.T
    assert np.allclose(np.cov(np.concatenate(shifts).T), expected, atol=0.15 * expected.max())


@pytest.mark.parametrize("kind", ["mixup", "cutmix"])
def test_mixed_images_know_their_shares(kind: str, photos: PhotoDataset) -> None:
    """Every image is so much itself and the rest its neighbour, whose label comes along."""
    plain, labels = make(photos).load(2)
    mixed, own, others, share = make(photos, replace(CROPS, **{kind: 1.0})).load(2)
    assert torch.equal(own, labels)
    assert torch.equal(others, labels.roll(1, 0))
    neighbours = plain.roll(1, 0)
    if kind == "mixup":
        weight = share[:, None, None, None]
        assert torch.allclose(mixed, weight * plain + (1 - weight) * neighbours, atol=1e-6)
    else:
        from_own, from_other = ((mixed == images).all(1) for images in (plain, neighbours))
        assert (from_own | from_other).all()
        assert torch.allclose(from_own.float().mean((1, 2)), share, atol=0.02)


def test_the_mean_image_is_that_of_central_crops(photos: PhotoDataset) -> None:
    """On a scale where white is one."""
    preprocess = Preprocess(resize=28, crop=24)
    each = [
        prepare_photo(read_pixels(photos.train.path(index)), preprocess, None) for index in range(len(photos.train))
    ]
    mean = mean_photo(photos.train, resize=28, crop=24, workers=0, bad=BadImages(photos))
    assert torch.allclose(mean, torch.cat(each).mean(0), atol=1e-6)


def test_bad_images_stop_or_are_skipped_up_to_a_limit(photos: PhotoDataset) -> None:
    """One of a hundred, and one at least."""
    photos.train.path(0).write_bytes(b"")
    with pytest.raises(UserError, match=r"000\.jpg is not an image"):
        for step in range(3):
            make(photos).load(step)
    told: list[str] = []
    skipping = make(photos, bad=BadImages(photos, skip=True, warn=told.append))
    for step in range(3):
        skipping.load(step)
    assert (
        len(told) == 1
        and told[0].startswith("skipped: ")
        and told[0].endswith("000.jpg is not an image that can be read; remove it")
    )
    photos.test.path(0).write_bytes(b"")
    with pytest.raises(UserError, match=r"more than 1 image is bad, and no more than one in a hundred.*; remove it$"):
        list(skipping.tests(photos.test, 4))
    for index in range(len(photos.train)):
        photos.train.path(index).write_bytes(b"")
    with pytest.raises(UserError, match="more than 1 image is bad"):
        make(photos, bad=BadImages(photos, skip=True)).load(0)


def test_skipped_images_are_left_out_of_tests_and_means(photos: PhotoDataset) -> None:
    """The others are tested, and averaged, as they are without them; a batch of bad ones alone is none."""
    good = torch.cat([images for images, _ in make(photos).tests(photos.test, 1)])
    photos.test.path(2).write_bytes(b"")
    batches = list(make(photos, bad=BadImages(photos, skip=True)).tests(photos.test, 1))
    assert torch.equal(torch.cat([images for images, _ in batches]), good[[0, 1, 3, 4, 5]])
    assert torch.cat([labels for _, labels in batches]).tolist() == [0, 0, 1, 1, 1]
    with pytest.raises(UserError, match=r"002\.jpg is not an image"):
        list(make(photos).tests(photos.test, 4))
    options = {"resize": 28, "crop": 24, "workers": 0}
    rest = mean_photo(photos.test.take(np.array([0, 1, 3, 4, 5])), bad=BadImages(photos), **options)
    assert torch.allclose(mean_photo(photos.test, bad=BadImages(photos, skip=True), **options), rest)
