"""Classes of different sizes: weights of the loss, and a sequence in which each comes equally often."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reslab.data.arrays.order import Sampler
from reslab.data.balance import balance, weigh_classes, weigh_labels

LABELS = np.repeat(np.arange(3), [40, 7, 2])


def test_weights_are_scikit_learns() -> None:
    """n / (classes * count): a class weighs as much as any other, an image one on average; empty classes are none."""
    weights = weigh_classes(LABELS, classes=4)
    assert weights[:3] == pytest.approx([49 / (3 * 40), 49 / (3 * 7), 49 / (3 * 2)])
    assert np.isfinite(weights).all()
    assert weights[LABELS].mean() == pytest.approx(1)


def test_weights_of_several_labels_make_yes_and_no_equal() -> None:
    """n / (2 * count) for each class by itself; what every image has, or none, is left as it is."""
    labels = np.array([[1, 1, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0]])
    no, yes = weigh_labels(labels)
    assert (no[0], yes[0]) == pytest.approx((4 / (2 * 3), 4 / 2))
    assert (yes[1], no[2]) == (1, 1)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=5), st.integers(0, 500), st.integers(1, 300))
def test_every_stretch_has_all_classes_equally_often(sizes: list[int], start: int, length: int) -> None:
    """Give or take one at either end, wherever it begins; and is what others see of the same positions."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    sequence = balance(labels, seed=1)
    images, rounds = sequence.draw(start, start + length)
    counts = np.bincount(labels[images], minlength=len(sizes))
    assert counts.max() - counts.min() <= 2
    wider, wider_rounds = balance(labels, seed=1).draw(0, start + length)
    assert np.array_equal(wider[start:], images)
    assert np.array_equal(wider_rounds[start:], rounds)


def test_a_class_is_gone_through_before_it_comes_again() -> None:
    """Each round of it in another order; other classes and seeds are in theirs."""
    sequence = balance(LABELS, seed=1)
    images, rounds = sequence.draw(0, 3 * 160)
    for label, size in enumerate([40, 7, 2]):
        own, when = images[LABELS[images] == label], rounds[LABELS[images] == label]
        assert np.array_equal(when, np.arange(160) // size)
        for one in range(160 // size):
            assert sorted(own[when == one]) == np.flatnonzero(label == LABELS).tolist()
    sevens = images[LABELS[images] == 1]
    assert len({tuple(sevens[first : first + 7]) for first in range(0, 70, 7)}) > 5
    assert not np.array_equal(balance(LABELS, seed=2).draw(0, 100)[0], images[:100])


def test_the_first_of_a_seed_stay_what_they_are() -> None:
    """Runs on disks were trained with them."""
    assert balance(LABELS, seed=1).draw(0, 9)[0].tolist() == [47, 25, 40, 0, 44, 48, 32, 46, 47]


def test_small_images_that_come_again_are_cropped_anew() -> None:
    """In one epoch, by chance; flips that alternate do so from each time to the next."""
    sampler = Sampler(count=49, seed=1, padding=4, flip=True, balance=balance(LABELS, seed=1))
    drawn = sampler.draw_epoch(0)
    again = drawn.indices == 48
    assert again.sum() >= 7
    assert len(set(zip(drawn.tops[again], drawn.lefts[again], strict=True))) > 4
    alternating = Sampler(count=49, seed=1, flip=True, alternating_flips=True, balance=balance(LABELS, seed=1)).draw(
        0, 200
    )
    flips = alternating.flips[alternating.indices == 48].astype(int)
    assert (np.abs(np.diff(flips)) == 1).all()
    assert len(flips) > 30


def test_batches_and_shares_are_of_one_sequence() -> None:
    """Across the ends of epochs; processes together see what one sees."""
    sampler = Sampler(count=49, seed=1, padding=2, flip=True, balance=balance(LABELS, seed=1))
    whole = np.concatenate([sampler.draw(step, 12).indices for step in range(10)])
    assert np.array_equal(whole, balance(LABELS, seed=1).draw(0, 120)[0])
    draw = sampler.draw(3, 12)
    shares = [draw.share(rank, 2, parts=1).indices for rank in range(2)]
    assert np.array_equal(np.concatenate(shares), draw.indices)
