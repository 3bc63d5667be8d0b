"""The order of photographs, and what each process takes of it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.counting import count_calls

from reslab.data.balance import balance
from reslab.data.photos import order as sampling
from reslab.data.photos.order import PhotoSampler
from reslab.runtime.randomness import Stream, numbers_for


def test_every_image_comes_once_an_epoch_and_batches_run_on() -> None:
    """In another order each time, the same for the same seed."""
    sampler = PhotoSampler(count=10, seed=3)
    keys = [key for step in range(5) for key in sampler.draw(step, 4)]
    assert [epoch for epoch, _ in keys] == [0] * 10 + [1] * 10
    first, second = ([image for _, image in keys[start : start + 10]] for start in (0, 10))
    assert sorted(first) == sorted(second) == list(range(10))
    assert first != second
    assert PhotoSampler(count=10, seed=3).draw(2, 4) == keys[8:12]
    assert PhotoSampler(count=10, seed=4).draw(0, 4) != keys[:4]


def test_orders_are_drawn_once_for_trials_that_run_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """By turns, across the ends of epochs; images are those that were taken one by one."""
    drawn = count_calls(monkeypatch, sampling, "numbers_for")
    samplers = [PhotoSampler(count=10, seed=seed) for seed in range(5)]
    batches = {(step, n): sampler.draw(step, 4) for step in range(5) for n, sampler in enumerate(samplers)}
    assert len(drawn) == 5 * 2
    for (step, seed), batch in batches.items():
        places = [divmod(position, 10) for position in range(4 * step, 4 * step + 4)]
        orders = [numbers_for(Stream.ORDER, seed=seed, epoch=epoch).permutation(10) for epoch, _ in places]
        assert batch == [(epoch, order[place]) for (epoch, place), order in zip(places, orders, strict=True)]
    assert all(type(image) is int for batch in batches.values() for _, image in batch)
    assert PhotoSampler(count=3, seed=1).draw(0, 8)[-1][0] == 2  # several epochs in one batch


def test_balanced_no_image_comes_twice_in_an_epoch_of_its_class() -> None:
    """So each time its crop is another; a batch has the classes equally often; any step is drawn by itself."""
    labels = np.repeat([0, 1], [9, 2])
    sampler = PhotoSampler(count=11, seed=3, balance=balance(labels, seed=3))
    batches = [sampler.draw(step, 4) for step in range(9)]
    assert all(sum(labels[image] for _, image in batch) == 2 for batch in batches)
    keys = [key for batch in batches for key in batch]
    assert len(set(keys)) == 36
    assert sorted(epoch for epoch, image in keys if image == 10) == list(range(9))
    assert PhotoSampler(count=11, seed=3, balance=balance(labels, seed=3)).draw(7, 4) == batches[7]
