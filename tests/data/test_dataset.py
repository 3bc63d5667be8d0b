"""Datasets as arrays: what they are told apart by, and what is held back of them."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from tests.trials import DIGITS

from reslab.data.dataset import Dataset, Split, count_held_back


def make_split(count: int, *, seed: int = 0) -> Split:
    chance = np.random.default_rng(seed)
    images = chance.integers(0, 256, (count, 3, 4, 5), dtype=np.uint8)
    return Split(images, chance.integers(0, 2, count, dtype=np.uint8))


DATASET = Dataset(name="noise", class_names=("a", "b"), train=make_split(25), test=make_split(6, seed=1))


def test_a_dataset_knows_the_shape_of_its_images() -> None:
    """Channels first, width last."""
    assert (DATASET.channels, DATASET.side, len(DATASET.train), len(DATASET.test)) == (3, 5, 25, 6)


def test_a_fingerprint_is_of_the_content_alone() -> None:
    """Neither of the name nor of how the arrays lie in memory; what the data of runs on disks is called stays."""
    train = DATASET.train
    other_layout = Split(np.asfortranarray(train.images), train.labels)
    assert replace(DATASET, name="other", train=other_layout).fingerprint == DATASET.fingerprint
    assert DIGITS.fingerprint == "d5451ba0064d3cb0b5dceaf1ba45474323510b41ac0a3f5d0703f7280cf194f3"


@pytest.mark.parametrize(
    "change",
    [
        lambda split: Split(np.where(np.arange(5) == 3, split.images ^ 1, split.images), split.labels),
        lambda split: Split(split.images, split.labels ^ 1),
        lambda split: Split(split.images.reshape(-1, 3, 5, 4), split.labels),  # the same bytes
        lambda split: split.take(np.arange(len(split))[::-1]),
        lambda split: split.take(slice(1, None)),
    ],
)
@pytest.mark.parametrize("part", ["train", "test"])
def test_whatever_is_changed_changes_the_fingerprint(part: str, change) -> None:
    """Pixels, labels, shape, order or number, of either split."""
    other = replace(DATASET, **{part: change(getattr(DATASET, part))})
    assert other.fingerprint != DATASET.fingerprint


def test_splits_do_not_trade_places() -> None:
    """Trained on what it was tested on is another trial."""
    swapped = replace(DATASET, train=DATASET.test, test=DATASET.train)
    assert swapped.fingerprint != DATASET.fingerprint


def test_tuning_holds_back_the_last_tenth_of_what_is_trained_on() -> None:
    """Rounded down, in order, with its labels; the test images stay out of it."""
    train, held = DATASET.divide("tuning")
    assert (len(train), len(held)) == (23, 2) == (25 - count_held_back(DATASET.train, "tuning"), 2)
    assert np.array_equal(np.concatenate([train.images, held.images]), DATASET.train.images)
    assert np.array_equal(np.concatenate([train.labels, held.labels]), DATASET.train.labels)


def test_a_full_split_is_the_data() -> None:
    """Nothing is held back."""
    assert DATASET.divide("full") == (DATASET.train, DATASET.test)
    assert count_held_back(DATASET.train, "full") == 0


def test_a_fingerprint_is_taken_once_and_is_of_the_dataset_it_was_taken_of() -> None:
    """Not of those made from it; where it is sent to another process, it goes along."""
    assert DIGITS.fingerprint is DIGITS.fingerprint
    turned = replace(DIGITS, train=Split(DIGITS.train.images, 9 - DIGITS.train.labels))
    assert turned.fingerprint != DIGITS.fingerprint
    assert replace(turned, train=DIGITS.train).fingerprint == DIGITS.fingerprint
    assert pickle.loads(pickle.dumps(turned)).fingerprint == turned.fingerprint
