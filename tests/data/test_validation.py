"""Images held back from training to choose by."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.trials import DIGITS

from reslab.data.arrays.split import ArraySplit
from reslab.data.dataset import count_trained, count_validation
from reslab.data.validation import hold_back
from reslab.errors import UserError
from reslab.spec.trial import DataSpec

DATA = DataSpec(name="digits", fingerprint="", validation=0.1)


def numbered(targets: list[int]) -> ArraySplit:
    """Images that are told apart by a pixel."""
    return ArraySplit(np.arange(len(targets), dtype=np.uint8).reshape(-1, 1, 1, 1), np.array(targets, np.uint8))


def test_every_class_gives_its_share() -> None:
    """Of classes of different sizes in any order; together they are all images, each once, in the order they had."""
    train = numbered(([0] * 3 + [1]) * 20 + [2] * 20)
    kept, held = hold_back(train, replace(DATA, validation=0.2))
    assert held is not None
    assert np.bincount(held.targets).tolist() == [12, 4, 4]
    assert sorted([*kept.images.flat, *held.images.flat]) == list(range(100))
    assert list(held.images.flat) == sorted(held.images.flat)
    assert list(kept.images.flat) == sorted(kept.images.flat)


def test_the_seed_draws_them() -> None:
    """The same ones for every run of the same data, others for another seed."""
    one, same, other = (hold_back(DIGITS.train, replace(DATA, held_out_seed=seed))[1] for seed in (1, 1, 2))
    assert one is not None and same is not None and other is not None
    assert np.array_equal(one.images, same.images)
    assert not np.array_equal(one.images, other.images)


def test_none_are_held_back_unless_asked_for() -> None:
    """The split is then the very same."""
    assert hold_back(DIGITS.train, replace(DATA, validation=0)) == (DIGITS.train, None)


def test_they_are_counted_without_drawing() -> None:
    """One at least, after what tuning holds back, and never all."""
    train = numbered([0, 1] * 20)
    assert count_trained(train, DATA) == 36 == len(hold_back(train, DATA)[0])
    assert count_trained(train, replace(DATA, split="tuning")) == 32
    assert count_validation(3, DATA) == 1
    with pytest.raises(UserError, match=r"data\.validation is 0\.99, which leaves none of 40 images to train on"):
        count_trained(train, replace(DATA, validation=0.99))
    with pytest.raises(UserError, match=r"data\.validation is 1; give a fraction of the training images"):
        replace(DATA, validation=1)
