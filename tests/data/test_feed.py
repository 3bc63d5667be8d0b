"""Every kind of data feeds a training by the contract of `Feed`: batches by their step, test images in order."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.multilabel import make_labelled
from tests.photographs import make_photos
from tests.trials import DIGITS, make_digits_trial, make_photo_trial

from reslab.data.dataset import Dataset
from reslab.data.feed import Feed
from reslab.data.photos.reader import read_photos
from reslab.runtime.listener import DEAF
from reslab.runtime.processes import ALONE, Processes
from reslab.spec.trial import Trial

Given = tuple[Trial, Dataset]


@pytest.fixture(params=["arrays", "cropped", "folder", "list"])
def given(request: pytest.FixtureRequest, tmp_path: Path) -> Given:
    """A trial of each kind of data, with two batches to an iteration."""
    if request.param in ("arrays", "cropped"):
        fields = {"augmentation.crop": "shorter-side"} if request.param == "cropped" else {}
        return make_digits_trial(batch=8, accumulate=2, iterations=8, **fields), DIGITS
    labelled = request.param == "list"
    photos = read_photos(make_labelled(tmp_path / "a") if labelled else make_photos(tmp_path / "a", val=4))
    return make_photo_trial(photos, recipe__accumulate="2"), photos


def feed_of(given: Given, processes: Processes = ALONE) -> Feed:
    trial, dataset = given
    return dataset.make_feed(trial, device="cpu", processes=processes, folder=None, listener=DEAF)


def test_all_that_is_named_is_there(given: Given) -> None:
    """With the shape that the network is built for, and the targets of the images to train on."""
    feed, (trial, dataset) = feed_of(given), given
    assert all(hasattr(feed, name) for name in vars(Feed) if not name.startswith("_"))
    assert feed.image_shape == trial.network.input_shape
    assert np.array_equal(feed.targets, dataset.train.targets)
    assert (feed.mean_image is not None) == feed.preprocess.per_pixel_mean
    assert (feed.num_tests, feed.tested) == (len(dataset.test), range(len(dataset.test)))
    assert (feed.num_skipped_tests, feed.share_skipped(), feed.is_resident) == (0, 0, False)
    assert feed.name_images(0) != feed.name_images(1)


def test_images_to_choose_by_are_held_back_from_training(given: Given) -> None:
    """They are tested as test images are, which stay what they were; nothing else is chosen by."""
    (trial, dataset), whole = given, feed_of(given)
    assert whole.validation is None
    feed = feed_of((replace(trial, data=replace(trial.data, validation=0.25)), dataset))
    assert feed.validation is not None
    held = torch.cat([targets for _, targets, _ in feed.validation.tests()])
    assert len(held) == feed.validation.num_tests == round(0.25 * len(dataset.train))
    assert len(feed.targets) == len(dataset.train) - len(held)
    assert np.array_equal(np.sort(np.concatenate([feed.targets, held.numpy()]), 0), np.sort(dataset.train.targets, 0))
    assert feed.num_tests == whole.num_tests == len(dataset.test)
    assert next(iter(feed.validation.tests()))[0].shape[1:] == feed.image_shape


def test_batches_are_a_function_of_their_step(given: Given) -> None:
    """Loaded one by one, several at once, or again by another feed."""
    feed, batch = feed_of(given), given[0].recipe.batch
    images, targets = feed.load(2, 3)
    assert images.shape == (3, batch, *feed.image_shape)
    assert targets.shape[:2] == (3, batch)
    for number in range(3):
        alone = feed_of(given).load(2 + number, 1)
        assert all(torch.equal(part[number], one[0]) for part, one in zip((images, targets), alone, strict=True))


@pytest.mark.parametrize("count", [2, 4])
def test_processes_share_batches_and_tests(given: Given, count: int) -> None:
    """Of each part that is accumulated everyone has its own images, together the whole; test images come once."""
    whole, parts = feed_of(given), given[0].recipe.accumulate
    shares = [feed_of(given, Processes(rank, count)) for rank in range(count)]
    expected, _ = whole.load(1, 1)
    loaded = [feed.load(1, 1)[0][0].chunk(parts) for feed in shares]
    assert torch.equal(torch.cat([loaded[rank][part] for part in range(parts) for rank in range(count)]), expected[0])
    assert list(itertools.chain(*[feed.tested for feed in shares])) == list(range(whole.num_tests))
    tests = [test for feed in shares for test in feed.tests()]
    for found, all_of_them in zip(zip(*tests, strict=True), zip(*whole.tests(), strict=True), strict=True):
        assert torch.equal(torch.cat(found), torch.cat(all_of_them))


def test_tests_are_the_test_images_in_order(given: Given) -> None:
    """Each once, with its target, of the network's size; asked for again they are the same."""
    feed, (trial, dataset) = feed_of(given), given
    (images, targets, indices), again = (list(map(torch.cat, zip(*feed.tests(), strict=True))) for _ in range(2))
    assert images.shape == (len(dataset.test), *trial.network.input_shape)
    assert np.array_equal(targets, dataset.test.targets)
    assert indices.tolist() == list(range(len(dataset.test)))
    assert torch.equal(images, again[0])
