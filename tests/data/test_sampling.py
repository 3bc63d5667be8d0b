"""Order and augmentation are pure functions of (seed, epoch, position)."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reslab.data.sampling import Sampler


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
    for name in ("indices", "tops", "lefts", "flips"):
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
