"""What is held out is drawn by each image's own name, and what versions before drew stays what it was."""

from __future__ import annotations

import numpy as np
import pytest

from reslab.data.photos.held_out import (
    HELD_OUT,
    draw_by_name,
    draw_by_position,
    draw_labelled_by_name,
    draw_labelled_by_position,
)
from reslab.errors import UserError

FILES = [f"ant/{number}.jpg" for number in range(5000)]


def test_about_a_fifth_is_drawn_by_name_and_seed() -> None:
    """Within four standard deviations, another fifth by another seed, and as here for ever."""
    held = draw_by_name(FILES, seed=0)
    assert abs(held.mean() - HELD_OUT) < 4 * (HELD_OUT * (1 - HELD_OUT) / len(FILES)) ** 0.5
    other = draw_by_name(FILES, seed=1)
    assert abs((held & other).mean() - HELD_OUT**2) < 0.012
    assert np.flatnonzero(held)[:6].tolist() == [1, 6, 8, 13, 18, 20]


def test_the_others_decide_nothing() -> None:
    """Any part of the images, in any order, is divided as all of them are."""
    held = draw_by_name(FILES, seed=2)
    chosen = np.random.default_rng(0).permutation(len(FILES))[:300]
    assert np.array_equal(draw_by_name([FILES[index] for index in chosen], seed=2), held[chosen])


@pytest.mark.parametrize("seed", range(20))
def test_a_small_class_is_on_both_sides(seed: int) -> None:
    """Two images are one and one."""
    assert draw_by_name(FILES[:2], seed=seed).sum() == 1
    assert 1 <= draw_by_name(FILES[:4], seed=seed).sum() <= 3


@pytest.mark.parametrize("seed", range(20))
def test_every_label_is_trained_on_and_tested_on_where_it_can_be(seed: int) -> None:
    """The only image of a class is trained on; two are one and one, whatever other labels they have."""
    labels = np.random.default_rng(seed).integers(0, 2, (30, 5))
    labels[:, 3], labels[:, 4] = 0, 0
    labels[:2, 3], labels[7, 4] = 1, 1
    held = draw_labelled_by_name(FILES[:30], labels, seed=seed)
    assert labels[~held].sum(0).all()
    assert labels[held].sum(0)[:4].all()
    assert labels[held].sum(0)[3:].tolist() == [1, 0]


def test_what_was_drawn_before_stays() -> None:
    """Runs of then are read so: the numbers are theirs."""
    assert np.flatnonzero(draw_by_position(20, seed=0, stream=0)).tolist() == [6, 8, 14, 19]
    labels = np.random.default_rng(0).integers(0, 2, (20, 3))
    assert np.flatnonzero(draw_labelled_by_position(labels, seed=1)).tolist() == [0, 1, 4]


def test_a_seed_is_a_whole_number() -> None:
    """Of 0 or more, in every draw."""
    labels = np.ones((4, 1), np.int64)
    for draw in (
        lambda: draw_by_name(FILES[:4], seed=-1),
        lambda: draw_by_position(4, seed=-1, stream=0),
        lambda: draw_labelled_by_name(FILES[:4], labels, seed=-1),
        lambda: draw_labelled_by_position(labels, seed=-1),
    ):
        with pytest.raises(UserError, match=r"data\.held_out_seed is -1; give a whole number of 0 or more"):
            draw()
