"""Bytes become centred floats; colours shift as AlexNet's; mixed images know their shares."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.counting import count_calls
from tests.trials import make_photo_trial
from torch import Tensor

from reslab.data.photos import feed as feeding
from reslab.data.photos.bad_images import BadImages
from reslab.data.photos.feed import PhotoFeed, make_feed, mean_photo
from reslab.data.photos.folder import PhotoDataset, PhotoSplit
from reslab.data.preprocessing import centre_pixels, preprocess_images
from reslab.errors import UserError
from reslab.runtime.listener import DEAF, Listener
from reslab.runtime.processes import ALONE, Processes
from reslab.runtime.sealed import write_sealed
from reslab.spec import Preprocess
from reslab.spec.augmentation import AugmentationSpec, ResizingSpec

PREPROCESS = Preprocess(resize=28, crop=24, mean=(0.4, 0.5, 0.6), std=(0.2, 0.25, 0.3))
GEOMETRY = Preprocess(resize=28, crop=24)
CROPS = AugmentationSpec(crop="resized")


def make(
    dataset: PhotoDataset,
    augmentation: AugmentationSpec = CROPS,
    *,
    batch: int = 6,
    recipe: dict[str, Any] | None = None,
    listener: Listener = DEAF,
    on_bad_image: str = "stop",
    input_size: str = "24",
    **changes: Any,
) -> PhotoFeed:
    """A feed of a short trial, with changes to its recipe, and to the feed itself."""
    trial = make_photo_trial(dataset, data__on_bad_image=on_bad_image, network__input_size=input_size, seed="1")
    trial = replace(trial, recipe=replace(trial.recipe, augmentation=augmentation, batch=batch, **recipe or {}))
    feed = make_feed(dataset, trial, device="cpu", processes=ALONE, folder=None, listener=listener)
    return replace(feed, **{"preprocess": PREPROCESS} | changes)


def load(feed: PhotoFeed, step: int) -> list[Tensor]:
    """Return the batch of one iteration."""
    return [part[0] for part in feed.load(step, 1)]


def test_pixels_are_centred_as_at_the_test(photos: PhotoDataset) -> None:
    """To the bit: by mean and deviation; by the mean image, or its mean colour for smaller crops."""
    feed = make(photos)
    images, targets = load(feed, 0)
    decoded = feed.crops[24, feed.sampler.draw(0, 6)]
    pixels = decoded.pixels.permute(0, 3, 1, 2) / 255
    assert torch.equal(images, centre_pixels(pixels, PREPROCESS))
    assert torch.equal(targets, decoded.targets)
    by_image = Preprocess(resize=28, crop=24, per_pixel_mean=True)
    mean_image = torch.rand(3, 24, 24)
    images, _ = load(make(photos, preprocess=by_image, mean_image=mean_image), 0)
    assert torch.equal(images, pixels - mean_image)
    by_image, mean_image = Preprocess(resize=73, crop=64, per_pixel_mean=True), torch.rand(3, 64, 64)
    growing = {"recipe": {"resizing": ResizingSpec(initial=0.5, stages=2)}, "input_size": "64"}
    images, _ = load(make(photos, preprocess=by_image, mean_image=mean_image, **growing), 0)
    pixels = feed.crops[32, feed.sampler.draw(0, 6)].pixels.permute(0, 3, 1, 2) / 255
    assert torch.equal(images, centre_pixels(pixels, by_image, mean_image=mean_image))


def test_steps_may_be_asked_for_in_any_order(photos: PhotoDataset) -> None:
    """As a resumed run does."""
    feed = make(photos)
    first, second = load(feed, 3), load(feed, 4)
    assert torch.equal(load(feed, 3)[0], first[0])
    assert torch.equal(load(make(photos), 4)[0], second[0])


def test_crops_of_one_size_come_together(photos: PhotoDataset) -> None:
    """Of several iterations those before the crops grow, or all; each is what it is alone."""
    growing = {"recipe": {"resizing": ResizingSpec(initial=0.5, stages=2), "iterations": 12}, "input_size": "64"}
    feed = make(photos, **growing)
    assert [feed.load(step, 7)[0].shape[::4] for step in (4, 5, 6)] == [(2, 32), (1, 32), (7, 64)]
    together, alone = feed.load(4, 2), make(photos, **growing)
    assert all(torch.equal(together[0][number], load(alone, 4 + number)[0]) for number in range(2))


def test_colours_shift_along_the_principal_components(photos: PhotoDataset) -> None:
    """One shift an image, the same for all its pixels; over many, their covariance is ImageNet's, scaled."""
    plain, _ = load(make(photos), 0)
    shifted, _ = load(make(photos, replace(CROPS, colour=0.1)), 0)
    difference = (shifted - plain) * torch.tensor(PREPROCESS.std)[:, None, None]
    assert difference.std((2, 3)).max() < 1e-6
    many, none = make(photos, replace(CROPS, colour=0.1), batch=16), make(photos, batch=16)
    shifts = [(load(many, step)[0] - load(none, step)[0])[:, :, 0, 0].numpy() * PREPROCESS.std for step in range(40)]
    vectors = np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]])
    expected = vectors @ np.diag(np.square([0.02175, 0.00188, 0.00045])) @ vectors.T
    assert np.allclose(np.cov(np.concatenate(shifts).T), expected, atol=0.15 * expected.max())


@pytest.mark.parametrize("kind", ["mixup", "cutmix"])
def test_mixed_images_know_their_shares(kind: str, photos: PhotoDataset) -> None:
    """Every image is so much itself and the rest its neighbour, whose label comes along."""
    plain, targets = load(make(photos), 2)
    mixed, own, others, share = load(make(photos, replace(CROPS, **{kind: 1.0})), 2)
    assert torch.equal(own, targets)
    assert torch.equal(others, targets.roll(1, 0))
    neighbours = plain.roll(1, 0)
    if kind == "mixup":
        weight = share[:, None, None, None]
        assert torch.allclose(mixed, weight * plain + (1 - weight) * neighbours, atol=1e-6)
    else:
        from_own, from_other = ((mixed == images).all(1) for images in (plain, neighbours))
        assert (from_own | from_other).all()
        assert torch.allclose(from_own.float().mean((1, 2)), share, atol=0.02)


def prepare(split: PhotoSplit, preprocess: Preprocess) -> Tensor:
    """Return the images of a split one by one, as the weights say."""
    images = [split.read(index)[None] for index in range(len(split))]
    return torch.cat([preprocess_images(image, preprocess, brightest=255) for image in images])


def test_test_images_are_prepared_as_the_weights_say(photos: PhotoDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every one once, in order, in batches of one size, give or take an image."""
    monkeypatch.setattr(feeding, "EVALUATION_BATCH", 4)
    tested = replace(photos, test=photos.train.take(slice(10)))
    batches = list(make(tested).tests())
    assert [len(images) for images, *_ in batches] == [3, 3, 4]
    assert torch.equal(torch.cat([images for images, *_ in batches]), prepare(tested.test, PREPROCESS))
    assert np.array_equal(torch.cat([targets for _, targets, _ in batches]), tested.test.targets)


def test_the_mean_image_is_that_of_central_crops(photos: PhotoDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a scale where white is one; of many images, of some all over the split."""
    each = prepare(photos.train, GEOMETRY)
    mean = mean_photo(photos.train, GEOMETRY, bad=BadImages(photos), device="cpu")
    assert torch.allclose(mean, each.mean(0), atol=1e-6)
    monkeypatch.setattr(feeding, "MEAN_IMAGES", 4)
    some = mean_photo(photos.train, GEOMETRY, bad=BadImages(photos), device="cpu")
    assert torch.allclose(some, each[[0, 5, 10, 15]].mean(0), atol=1e-6)


def test_a_run_computes_its_mean_image_once(
    photos: PhotoDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And keeps it; where ImageNet's colours are subtracted there is none. The test's geometry is 256 to 224."""
    trial = make_photo_trial(photos)
    options = {"device": "cpu", "processes": ALONE, "folder": tmp_path, "listener": DEAF}
    plain = make_feed(photos, trial, **options)
    assert (plain.mean_image, plain.preprocess.std) == (None, (0.229, 0.224, 0.225))
    assert (plain.preprocess.resize, plain.preprocess.crop) == (27, 24)
    trial = replace(trial, recipe=replace(trial.recipe, centring="mean-image"))
    computed = count_calls(monkeypatch, feeding, "mean_photo")
    first, second = (make_feed(photos, trial, **options) for _ in range(2))
    assert len(computed) == 1
    assert first.preprocess == second.preprocess == Preprocess(resize=27, crop=24, per_pixel_mean=True)
    assert first.mean_image is not None and second.mean_image is not None
    expected = mean_photo(photos.train, Preprocess(resize=27, crop=24), bad=BadImages(photos), device="cpu")
    assert torch.equal(first.mean_image, expected)
    assert torch.equal(second.mean_image, expected)
    write_sealed(tmp_path / "mean.safetensors", {"mean_image": torch.zeros(3, 24, 24)}, {})
    (tmp_path / "mean.safetensors").write_bytes((tmp_path / "mean.safetensors").read_bytes()[:-1])
    with pytest.raises(UserError, match=r"mean\.safetensors is damaged"):
        make_feed(photos, trial, **options)


def test_bad_images_stop_or_are_skipped_up_to_a_limit(photos: PhotoDataset) -> None:
    """One of a hundred, and one at least."""
    photos.train.path(0).write_bytes(b"")
    with pytest.raises(UserError, match=r"000\.jpg is not an image"):
        for step in range(3):
            make(photos).load(step, 1)
    told: list[str] = []
    skipping = make(photos, on_bad_image="skip", listener=Listener(warn=told.append))
    for step in range(3):
        skipping.load(step, 1)
    assert (
        len(told) == 1
        and told[0].startswith("skipped: ")
        and told[0].endswith("000.jpg is not an image that can be read; remove it")
    )
    assert (skipping.share_skipped(), skipping.num_skipped_tests) == (1, 0)
    photos.test.path(0).write_bytes(b"")
    with pytest.raises(
        UserError, match=r"more than 1 image cannot be read, but at most 1 % of all images.*; remove it$"
    ):
        list(skipping.tests())
    for index in range(len(photos.train)):
        photos.train.path(index).write_bytes(b"")
    with pytest.raises(UserError, match="more than 1 image cannot be read"):
        make(photos, on_bad_image="skip").load(0, 1)


def test_skipped_images_are_left_out_of_tests_and_means(photos: PhotoDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are tested, and averaged, as they are without them; a batch of bad ones alone is none."""
    monkeypatch.setattr(feeding, "EVALUATION_BATCH", 1)
    good = torch.cat([images for images, *_ in make(photos).tests()])
    photos.test.path(2).write_bytes(b"")
    skipping = make(photos, on_bad_image="skip")
    batches = list(skipping.tests())
    assert torch.equal(torch.cat([images for images, *_ in batches]), good[[0, 1, 3, 4, 5]])
    assert torch.cat([targets for _, targets, _ in batches]).tolist() == [0, 0, 1, 1, 1]
    assert torch.cat([indices for *_, indices in batches]).tolist() == [0, 1, 3, 4, 5]
    assert (skipping.num_tests, skipping.num_skipped_tests) == (6, 1)
    with pytest.raises(UserError, match=r"002\.jpg is not an image"):
        list(make(photos).tests())
    rest = photos.test.take(np.array([0, 1, 3, 4, 5]))
    expected = mean_photo(rest, GEOMETRY, bad=BadImages(photos), device="cpu")
    bad = BadImages(photos, skip=True)
    assert torch.allclose(mean_photo(photos.test, GEOMETRY, bad=bad, device="cpu"), expected)
    assert bad.count("train") == 1  # that a mean is for


def test_what_was_skipped_is_kept_in_the_runs_folder(photos: PhotoDataset, tmp_path: Path) -> None:
    """In another sitting it counts and is not told again."""
    photos.test.path(2).write_bytes(b"")
    trial, told = make_photo_trial(photos, data__on_bad_image="skip"), list[str]()
    for _ in range(2):
        listener = Listener(warn=told.append)
        feed = make_feed(photos, trial, device="cpu", processes=ALONE, folder=tmp_path, listener=listener)
        list(feed.tests())
        assert feed.num_skipped_tests == 1
    assert len(told) == 1


def test_images_are_named_by_their_files(photos: PhotoDataset) -> None:
    """The first of a batch, so that one finds what an iteration saw."""
    feed = make(photos)
    names = [photos.train.files[image] for _, image in feed.sampler.draw(3, 6)[:4]]
    assert feed.name_images(3) == f"{', '.join(names)}, ..."


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("parts", [1, 2])
def test_shares_of_a_batch_are_the_batch(count: int, parts: int, photos: PhotoDataset) -> None:
    """Of each part that is accumulated every process has its own images, in their order; alone it has all."""
    feeds = [
        make(photos, batch=12, recipe={"accumulate": parts}, processes=Processes(rank, count)) for rank in range(count)
    ]
    shares = [next(feed.wanted(1))[1] for feed in feeds]
    size = 12 // (count * parts)
    ordered = [key for part in range(parts) for share in shares for key in share[part * size : (part + 1) * size]]
    assert ordered == feeds[0].sampler.draw(1, 12)
