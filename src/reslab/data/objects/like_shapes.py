"""Which images come together when: batches have images of one shape each, and are a pure function of (seed, step).

The images of a shape have epochs of their own, in each of which every one comes once, and batches run on across their
ends. After e epochs of all images, a shape of n has had e * n / size batches, rounded down; which of the batches of an
epoch comes when is drawn. So every shape comes as often as it has images, and any step is found without those before.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reslab.data.photos.order import Key
from reslab.runtime.randomness import Stream, numbers_for

EPOCHS_KEPT, ROUNDS_KEPT = 4, 64


@dataclass(frozen=True, kw_only=True, eq=False)
class ShapedSampler:
    """The endless sequence for one seed; `shapes` has the number of every image's shape."""

    shapes: NDArray[np.int64]
    seed: int

    def draw(self, step: int, size: int) -> list[Key]:
        """Return batch number `step` of `size` images: each with its shape's epoch."""
        shape, number = self._find(step, size)
        members = self._members[shape]
        rounds, places = np.divmod(np.arange(number * size, (number + 1) * size), len(members))
        keys = []
        for one, place in zip(rounds.tolist(), places.tolist(), strict=True):
            order = _order_round(self.seed, one, int(self._numbers[shape]), len(members))
            keys.append((one, int(members[order[place]])))
        return keys

    def find_shape(self, step: int, size: int) -> int:
        """Return the number of the shape that this batch has."""
        return int(self._numbers[self._find(step, size)[0]])

    @functools.cached_property
    def _numbers(self) -> NDArray[np.int64]:
        return np.unique(self.shapes)

    @functools.cached_property
    def _members(self) -> list[NDArray[np.int64]]:
        return [np.flatnonzero(self.shapes == number) for number in self._numbers]

    @functools.cached_property
    def _counts(self) -> NDArray[np.int64]:
        return np.array([len(members) for members in self._members], np.int64)

    def _find(self, step: int, size: int) -> tuple[int, int]:
        """Return which of the shapes there are this batch has, and which of its batches it is."""
        epoch = step * size // len(self.shapes)  # or, for all the rounding down, one of the next
        while self._count_before(epoch + 1, size).sum() <= step:
            epoch += 1
        before = self._count_before(epoch, size)
        shapes, numbers = _draw_turns(
            self.seed, epoch, tuple(before.tolist()), tuple(self._count_before(epoch + 1, size).tolist())
        )
        place = step - int(before.sum())
        return int(shapes[place]), int(numbers[place])

    def _count_before(self, epoch: int, size: int) -> NDArray[np.int64]:
        return epoch * self._counts // size


@functools.lru_cache(maxsize=EPOCHS_KEPT)
def _draw_turns(
    seed: int, epoch: int, firsts: tuple[int, ...], ends: tuple[int, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the batches of an epoch in their order: the shape of each, and which of its batches it is."""
    shapes = np.repeat(np.arange(len(firsts)), np.subtract(ends, firsts))
    numbers = np.concatenate([np.arange(first, end) for first, end in zip(firsts, ends, strict=True)])
    order = numbers_for(Stream.TURN, seed=seed, epoch=epoch).permutation(len(shapes))
    return shapes[order], numbers[order]


@functools.lru_cache(maxsize=ROUNDS_KEPT)
def _order_round(seed: int, one: int, shape: int, count: int) -> NDArray[np.int64]:
    return numbers_for(Stream.ROUND, seed=seed, epoch=one, item=shape).permutation(count)
