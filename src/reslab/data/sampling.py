"""Which image comes when, and how it is cropped and flipped: pure functions of (seed, epoch, position).

Drawn on the CPU by a counter-based generator, so that every device and every resumed run sees the same. Batches have
one size and run on across epoch ends: batch t holds positions t*size to (t+1)*size of the endless sequence of epochs.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]
ORDER, AUGMENTATION = 0, 1  # streams of random numbers that never meet


@dataclass(frozen=True)
class Draw:
    """For each image of a batch: which it is, where its crop starts in the padded image, and whether it is flipped."""

    indices: Indices
    tops: Indices
    lefts: Indices
    flips: NDArray[np.bool_]

    def part(self, first: int, last: int) -> Draw:
        """Return the images from position `first` up to `last`."""
        return Draw(self.indices[first:last], self.tops[first:last], self.lefts[first:last], self.flips[first:last])


@dataclass(frozen=True, kw_only=True)
class Sampler:
    """The endless sequence of training images for one seed."""

    count: int
    seed: int
    padding: int = 0
    flip: bool = False

    def draw(self, step: int, size: int, *, count: int = 1) -> Draw:
        """Return batch number `step` of `size` images, or `count` batches from that on, end to end."""
        start, stop = step * size, (step + count) * size
        parts = []
        for epoch in range(start // self.count, (stop - 1) // self.count + 1):
            before = epoch * self.count
            parts.append(self.draw_epoch(epoch).part(max(start - before, 0), min(stop - before, self.count)))
        return Draw(
            np.concatenate([part.indices for part in parts]),
            np.concatenate([part.tops for part in parts]),
            np.concatenate([part.lefts for part in parts]),
            np.concatenate([part.flips for part in parts]),
        )

    def draw_epoch(self, epoch: int) -> Draw:
        """Return a whole epoch: every image once, in its order."""
        return _draw_epoch(self.count, self.seed, epoch, self.padding, self.flip)


@functools.lru_cache(maxsize=16)
def _draw_epoch(count: int, seed: int, epoch: int, padding: int, flip: bool) -> Draw:
    order = _generator(seed, epoch, ORDER).permutation(count)
    generator = _generator(seed, epoch, AUGMENTATION)
    # Drawn by image, not by position, and always all three: switching one off leaves the others as they were.
    tops, lefts = generator.integers(0, 2 * padding + 1, (2, count))
    flips = generator.random(count) < (0.5 if flip else 0.0)
    return Draw(order, tops[order], lefts[order], flips[order])


def _generator(seed: int, epoch: int, stream: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=seed, counter=[0, 0, epoch, stream]))
