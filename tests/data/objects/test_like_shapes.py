"""Batches of one shape each: every image as often as any other, and any step without those before."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reslab.data.objects.like_shapes import ShapedSampler

SHAPES = np.array([3, 5, 3, 3, 0, 5, 3, 3, 5, 3, 0])


def sampler(shapes: np.ndarray = SHAPES, seed: int = 1) -> ShapedSampler:
    return ShapedSampler(shapes=shapes, seed=seed)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.integers(1, 5), st.integers(0, 3))
def test_shapes_have_epochs_of_their_own(shapes: list[int], size: int, seed: int) -> None:
    """No image comes twice in an epoch of its own, all come about equally often, and each shape has its share."""
    numbers = np.array(shapes)
    drawn = sampler(numbers, seed)
    steps = 3 * len(shapes) // size + 1
    batches = [drawn.draw(step, size) for step in range(steps)]
    for step, batch in enumerate(batches):
        assert len(batch) == size
        assert {shapes[image] for _, image in batch} == {drawn.find_shape(step, size)}
    assert max(Counter(key for batch in batches for key in batch).values()) == 1
    for shape, count in Counter(shapes).items():
        members = [image for image, own in enumerate(shapes) if own == shape]
        times = Counter(image for batch in batches for _, image in batch)
        assert (
            max(times[image] for image in members) - min(times[image] for image in members) <= 2
        )  # the batches of an epoch are shuffled
        had = sum(times[image] for image in members)
        assert abs(had - steps * size * count / len(shapes)) <= size * (1 + len(set(shapes))) + count


def test_an_epoch_has_every_image_once_where_batches_divide_it() -> None:
    """In one order for one seed, in another for the next epoch and the next seed."""
    shapes = np.array([0, 1, 1, 0, 1, 0, 0, 1, 1, 1])
    drawn = sampler(shapes)
    epochs = [[drawn.draw(step, 2) for step in range(5 * epoch, 5 * epoch + 5)] for epoch in range(2)]
    for number, epoch in enumerate(epochs):
        assert sorted(key for batch in epoch for key in batch) == [(number, image) for image in range(10)]
    orders = [[image for batch in epoch for _, image in batch] for epoch in epochs]
    other = [image for step in range(5) for _, image in sampler(shapes, 2).draw(step, 2)]
    assert len({tuple(order) for order in (*orders, other)}) == 3


@pytest.mark.parametrize("size", [1, 2, 7])
def test_any_step_is_found_without_those_before(size: int) -> None:
    """As a resumed run does it, far into the run too."""
    steps = [10_000, 0, 57, 10_001, 3]
    assert [sampler().draw(step, size) for step in steps] == [sampler().draw(step, size) for step in steps]
    drawn = sampler()
    assert [drawn.draw(step, size) for step in range(60)][57] == sampler().draw(57, size)


def test_rare_shapes_come_as_often_as_they_have_images() -> None:
    """To the batch, once all batches divide."""
    drawn = sampler()
    found = Counter(drawn.find_shape(step, 2) for step in range(11))
    assert found == {3: 6, 5: 3, 0: 2}
