"""Order and augmentation are pure functions of (seed, epoch, position)."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reslab.data.arrays.order import Sampler


@given(st.integers(1, 40), st.integers(1, 60), st.integers(0, 5))
def test_batches_run_on_across_epochs(count: int, size: int, seed: int) -> None:
    """Joined batches are the joined epochs, each image once an epoch, whatever the sizes."""
    sampler = Sampler(count=count, seed=seed, padding=2, flip=True)
    steps = 5
    joined = np.concatenate([sampler.draw(step, size).indices for step in range(steps)])
    epochs = np.concatenate([sampler.draw_epoch(epoch).indices for epoch in range(steps * size // count + 1)])
    assert np.array_equal(joined, epochs[: steps * size])
    assert sorted(epochs[:count]) == list(range(count))


def test_draws_are_reproducible_and_differ() -> None:
    """The same step is the same draw; seeds and epochs differ."""
    sampler = Sampler(count=100, seed=3, padding=4, flip=True)
    one, again = sampler.draw(7, 64), Sampler(count=100, seed=3, padding=4, flip=True).draw(7, 64)
    for name in ("indices", "tops", "lefts", "flips", "hole_tops", "hole_lefts"):
        assert np.array_equal(getattr(one, name), getattr(again, name))
    assert not np.array_equal(sampler.draw_epoch(0).indices, sampler.draw_epoch(1).indices)
    assert not np.array_equal(sampler.draw_epoch(0).indices, Sampler(count=100, seed=4).draw_epoch(0).indices)


def test_augmentation_is_uniform_and_switches_off() -> None:
    """Offsets cover 0 to twice the padding, half the images are flipped; order does not hang on it."""
    drawn = Sampler(count=10_000, seed=0, padding=4, flip=True).draw_epoch(0)
    assert set(drawn.tops) == set(drawn.lefts) == set(range(9))
    assert 0.45 < drawn.flips.mean() < 0.55
    plain = Sampler(count=10_000, seed=0).draw_epoch(0)
    assert not plain.flips.any()
    assert not plain.tops.any()
    assert np.array_equal(plain.indices, drawn.indices)


def test_alternating_flips_come_every_other_epoch() -> None:
    """Each image once in any two epochs in a row, which of the two by chance; everything else as with random flips."""
    sampler = Sampler(count=1_000, seed=0, padding=4, flip=True, alternating_flips=True)
    by_image = []
    for epoch in range(4):
        drawn = sampler.draw_epoch(epoch)
        flips = np.empty(1_000, dtype=bool)
        flips[drawn.indices] = drawn.flips
        by_image.append(flips)
        random = Sampler(count=1_000, seed=0, padding=4, flip=True).draw_epoch(epoch)
        assert np.array_equal(drawn.indices, random.indices)
        assert np.array_equal(drawn.tops, random.tops)
    assert 0.45 < by_image[0].mean() < 0.55
    for before, after in itertools.pairwise(by_image):
        assert np.array_equal(before, ~after)


def test_holes_are_anywhere_and_change_nothing_else() -> None:
    """Uniform over the places where they fit, another each epoch; crops and flips are as without."""
    plain = Sampler(count=10_000, seed=0, padding=4, flip=True).draw_epoch(1)
    drawn = Sampler(count=10_000, seed=0, padding=4, flip=True, hole_places=25).draw_epoch(1)
    assert set(drawn.hole_tops) == set(drawn.hole_lefts) == set(range(25))
    assert not np.array_equal(drawn.hole_tops, drawn.hole_lefts)
    assert not plain.hole_tops.any()
    for name in ("indices", "tops", "lefts", "flips"):
        assert np.array_equal(getattr(drawn, name), getattr(plain, name))
    later = Sampler(count=10_000, seed=0, padding=4, flip=True, hole_places=25).draw_epoch(2)
    assert not np.array_equal(drawn.hole_tops, later.hole_tops)


def test_what_the_paper_draws_is_what_it_was() -> None:
    """The first numbers of a seed: runs on disks were trained with them and must be resumable."""
    drawn = Sampler(count=50_000, seed=1, padding=4, flip=True).draw(391, 128)
    assert drawn.indices[:4].tolist() == [3203, 20360, 15671, 49241]
    assert [drawn.tops[:4].tolist(), drawn.lefts[:4].tolist()] == [[6, 3, 6, 8], [7, 7, 2, 3]]
    assert drawn.flips[:8].astype(int).tolist() == [1, 0, 0, 0, 1, 1, 1, 1]
