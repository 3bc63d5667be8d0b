"""Which image comes when, its crop, its flip and its hole: pure functions of (seed, epoch, position).

Drawn on the CPU by a counter-based generator, so that every device and every resumed run sees the same. Batches have
one size and run on across epoch ends: batch t holds positions t*size to (t+1)*size of the endless sequence of epochs.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reslab.data.balance import Balance
from reslab.data.geometry import ShorterSides
from reslab.runtime.randomness import Stream, numbers_for

Indices = NDArray[np.int64]
EPOCHS_KEPT = 64  # the one at hand and the next, of as many trials as run at once


@dataclass(frozen=True)
class Draw:
    """For each image of a batch: which it is, where its crop starts in the padded image, and whether it is flipped.

    Where images are cut out of, the hole's corner in the image as the network sees it, cropped and flipped. Where parts
    of images are resized instead, the box of each (left, top, right, bottom); and how far colours go along each
    principal component, in eigenvalues.
    """

    indices: Indices
    tops: Indices
    lefts: Indices
    flips: NDArray[np.bool_]
    hole_tops: Indices
    hole_lefts: Indices
    boxes: NDArray[np.float32]
    colours: NDArray[np.float32]

    def part(self, first: int, last: int) -> Draw:
        """Return the images from position `first` up to `last`."""
        return Draw(**{name: array[first:last] for name, array in vars(self).items()})

    def share(self, rank: int, count: int, *, parts: int) -> Draw:
        """Return what the process `rank` of `count` takes: its share of each of the `parts` a draw is used in."""
        return Draw(**{name: take_share(array, rank, count, parts=parts) for name, array in vars(self).items()})


def take_share(array: NDArray[Any], rank: int, count: int, *, parts: int) -> NDArray[Any]:
    """Return what the process `rank` of `count` takes of batches end to end: its share of each of their `parts`."""
    ours, rest = len(array) // count, array.shape[1:]
    return array.reshape(parts, count, ours // parts, *rest)[:, rank].reshape(ours, *rest)


@dataclass(frozen=True, kw_only=True)
class Sampler:
    """The endless sequence of training images for one seed; `hole_places` counts where a hole may start on a side.

    With `crops`, each image has a box; with `colour`, shifts of that deviation along the principal components. An epoch
    is every image once, or as many of a balanced sequence.
    """

    count: int
    seed: int
    padding: int = 0
    flip: bool = False
    alternating_flips: bool = False
    hole_places: int = 1
    crops: ShorterSides | None = None
    colour: float = 0.0
    balance: Balance | None = None

    def draw(self, step: int, size: int, *, count: int = 1) -> Draw:
        """Return batch number `step` of `size` images, or `count` batches from that on, end to end."""
        start, stop = step * size, (step + count) * size
        parts = []
        for epoch in range(start // self.count, (stop - 1) // self.count + 1):
            before = epoch * self.count
            parts.append(self.draw_epoch(epoch).part(max(start - before, 0), min(stop - before, self.count)))
        return Draw(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in vars(parts[0])})

    def draw_epoch(self, epoch: int) -> Draw:
        """Return a whole epoch in its order."""
        return _draw_epoch(self, epoch)


@functools.lru_cache(maxsize=EPOCHS_KEPT)
def _draw_epoch(sampler: Sampler, epoch: int) -> Draw:
    count, seed = sampler.count, sampler.seed
    if sampler.balance is None:
        images = places = numbers_for(Stream.ORDER, seed=seed, epoch=epoch).permutation(count)
        rounds = np.full(count, epoch)
    else:  # where an image may come twice, and each time is another
        images, rounds = sampler.balance.draw(epoch * count, (epoch + 1) * count)
        places = np.arange(count)
    generator = numbers_for(Stream.AUGMENTATION, seed=seed, epoch=epoch)
    # Drawn by image, not by position, and always all three: switching one off leaves the others as they were.
    tops, lefts = generator.integers(0, 2 * sampler.padding + 1, (2, count))
    flips = (generator.random(count) < (0.5 if sampler.flip else 0.0))[places]
    if sampler.alternating_flips:
        flips = (numbers_for(Stream.FIRST_FLIPS, seed=seed).random(count) < 0.5)[images] ^ (rounds % 2 == 1)
    holes = numbers_for(Stream.HOLES, seed=seed, epoch=epoch).integers(0, sampler.hole_places, (2, count))
    boxes, colours = np.empty((count, 0), np.float32), np.empty((count, 0), np.float32)
    if sampler.crops is not None:
        boxes = sampler.crops.draw(numbers_for(Stream.PARTS, seed=seed, epoch=epoch), count)
    if sampler.colour:
        colours = numbers_for(Stream.SHIFTS, seed=seed, epoch=epoch).normal(0, sampler.colour, (count, 3))
        colours = colours.astype(np.float32)
    crops = {"tops": tops, "lefts": lefts, "hole_tops": holes[0], "hole_lefts": holes[1]}
    crops |= {"boxes": boxes, "colours": colours}
    return Draw(images, flips=flips, **{name: drawn[places] for name, drawn in crops.items()})
