"""Datasets as arrays: what they are told apart by, what is held back of them, and what they refuse."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from tests.trials import DIGITS, make_digits_trial

from reslab.data.arrays.dataset import ArrayDataset
from reslab.data.arrays.split import ArraySplit
from reslab.data.dataset import count_held_back
from reslab.errors import UserError
from reslab.spec.recipe import find_recipe
from reslab.spec.trial import DataSpec


def make_split(count: int, *, seed: int = 0) -> ArraySplit:
    chance = np.random.default_rng(seed)
    images = chance.integers(0, 256, (count, 3, 4, 5), dtype=np.uint8)
    return ArraySplit(images, chance.integers(0, 2, count, dtype=np.uint8))


DATASET = ArrayDataset(name="noise", class_names=("a", "b"), train=make_split(25), test=make_split(6, seed=1))


def test_a_dataset_knows_the_shape_of_its_images() -> None:
    """Channels first, width last."""
    assert (DATASET.channels, DATASET.side, len(DATASET.train), len(DATASET.test)) == (3, 5, 25, 6)


def test_a_fingerprint_is_of_the_content_alone() -> None:
    """Neither of the name nor of how the arrays lie in memory; what the data of runs on disks is called stays."""
    train = DATASET.train
    other_layout = ArraySplit(np.asfortranarray(train.images), train.targets)
    assert replace(DATASET, name="other", train=other_layout).fingerprint == DATASET.fingerprint
    assert DIGITS.fingerprint == "d5451ba0064d3cb0b5dceaf1ba45474323510b41ac0a3f5d0703f7280cf194f3"


@pytest.mark.parametrize(
    "change",
    [
        lambda split: ArraySplit(np.where(np.arange(5) == 3, split.images ^ 1, split.images), split.targets),
        lambda split: ArraySplit(split.images, split.targets ^ 1),
        lambda split: ArraySplit(split.images.reshape(-1, 3, 5, 4), split.targets),  # the same bytes
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
    assert np.array_equal(np.concatenate([train.targets, held.targets]), DATASET.train.targets)


def test_a_full_split_is_the_data() -> None:
    """Nothing is held back."""
    assert DATASET.divide("full") == (DATASET.train, DATASET.test)
    assert count_held_back(DATASET.train, "full") == 0


def test_a_fingerprint_is_taken_once_and_is_of_the_dataset_it_was_taken_of() -> None:
    """Not of those made from it; where it is sent to another process, it goes along."""
    assert DIGITS.fingerprint is DIGITS.fingerprint
    turned = replace(DIGITS, train=ArraySplit(DIGITS.train.images, 9 - DIGITS.train.targets))
    assert turned.fingerprint != DIGITS.fingerprint
    assert replace(turned, train=DIGITS.train).fingerprint == DIGITS.fingerprint
    assert pickle.loads(pickle.dumps(turned)).fingerprint == turned.fingerprint


def test_what_was_trained_on_is_known_by_the_fingerprint() -> None:
    """All of the training images, or those of the tuning split; of other data nothing. Arrays are what they were."""
    before = DataSpec(name="noise", fingerprint=DATASET.fingerprint)
    assert DATASET.find_trained(before) == DATASET.train
    tuned = DATASET.find_trained(replace(before, split="tuning"))
    assert tuned is not None and len(tuned) == 23
    assert DATASET.find_trained(replace(before, fingerprint="other")) is None
    assert not list(DATASET.read_before(held_out_seed=0))


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"augmentation.mixup": 0.2}, r"recipe\.augmentation\.mixup is 0\.2, which is only for photographs; leave out"),
        ({"augmentation.crop": "resized"}, r"recipe\.augmentation\.crop is resized, which is only for photographs"),
        ({"centring": "imagenet"}, r"recipe\.centring is imagenet, which is only for photographs; leave out"),
        ({"resizing.initial": 0.5}, r"recipe\.resizing\.initial is 0\.5, which is only for photographs; leave out"),
        ({"augmentation.padding": 8, "augmentation.edges": "reflect"}, "edges=reflect needs a padding smaller than"),
        (
            {"augmentation.colour": 0.1},
            r"recipe\.augmentation\.colour is 0\.1, which is for photographs, and for colour",
        ),
        (
            {"augmentation.colour": 0.1, "augmentation.crop": "shorter-side"},  # digits are grey
            r"recipe\.augmentation\.colour is 0\.1, which is for photographs, and for colour images with",
        ),
        ({"augmentation.cutout": 9}, r"recipe\.augmentation\.cutout is 9, but the images are 8 pixels wide"),
    ],
)
def test_what_is_not_for_images_of_one_size_is_refused(fields: dict[str, object], sentence: str) -> None:
    """Rather than recorded and not done."""
    trial = make_digits_trial()
    DIGITS.refuse_trial(trial)
    DIGITS.refuse_trial(replace(trial, recipe=find_recipe("digits", {"augmentation.areas": (0.5, 1)})))
    with pytest.raises(UserError, match=sentence):
        DIGITS.refuse_trial(replace(trial, recipe=find_recipe("digits", fields)))


def test_parts_are_taken_of_square_images_only() -> None:
    """Their crops are squares as large as they are."""
    trial = make_digits_trial(**{"augmentation.crop": "shorter-side"})
    DIGITS.refuse_trial(trial)
    wide = ArraySplit(DIGITS.train.images[..., :6, :], DIGITS.train.targets)
    with pytest.raises(UserError, match=r"needs square images, but those of digits are 6x8; leave out"):
        replace(DIGITS, train=wide).refuse_trial(trial)


def test_images_take_memory_where_they_are_resident(monkeypatch: pytest.MonkeyPatch) -> None:
    """Padded, once for all trials; streamed ones take nothing there."""
    trial = make_digits_trial()
    monkeypatch.setenv("RESLAB_BATCHES", "streamed")
    assert DIGITS.count_bytes(trial, device="cpu") == 0
    monkeypatch.setenv("RESLAB_BATCHES", "resident")
    assert DIGITS.count_bytes(trial, device="cpu") == 1797 * 10 * 10
    cropped = make_digits_trial(**{"augmentation.crop": "shorter-side"})
    assert DIGITS.count_bytes(cropped, device="cpu") == 1797 * 8 * 8
