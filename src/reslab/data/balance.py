"""Classes of different sizes made equal: by weights of the loss, or by drawing each equally often.

Drawn so, the classes take turns: a turn has every class once, in an order of its own, and in turn t a class gives the
t-th of its own images, which go round and round, shuffled anew each round. So every stretch of a run has all classes
equally often, give or take one; no image of a class comes again before all of it have; and position p of the endless
sequence is a function of (seed, p) alone.
"""

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reslab.runtime.randomness import Stream, numbers_for

Indices = NDArray[np.int64]
TURNS_TOGETHER = 64  # are drawn at once
CHAPTERS_KEPT, ROUNDS_KEPT = 8, 64


def weigh_classes(labels: Indices, *, classes: int) -> NDArray[np.float32]:
    """Return what an image of each class counts in the loss: n / (classes * count), one on average over the images.

    Classes without images have no part in it.
    """
    counts = np.bincount(labels, minlength=classes)
    return (len(labels) / (np.count_nonzero(counts) * np.maximum(counts, 1))).astype(np.float32)


def weigh_labels(labels: Indices) -> NDArray[np.float32]:
    """Return the same for the no and the yes of each class, where images (a row each) have any number of labels."""
    return np.stack([weigh_classes(column, classes=2) for column in labels.T], axis=1)


@dataclass(frozen=True, eq=False)
class Balance:
    """The endless balanced sequence for one seed: of every class that has any, its images."""

    seed: int
    members: tuple[Indices, ...]

    def draw(self, start: int, stop: int) -> tuple[Indices, Indices]:
        """Return the images at positions `start` up to `stop`, and in which round of its class each comes."""
        size = TURNS_TOGETHER * len(self.members)
        first = start // size
        chapters = [_draw_chapter(self, number) for number in range(first, (stop - 1) // size + 1)]
        images, rounds = np.concatenate(chapters, axis=1)[:, start - first * size : stop - first * size]
        return images, rounds


def balance(labels: Indices, *, seed: int) -> Balance:
    """Return the balanced sequence of images that have these labels."""
    return Balance(seed, tuple(np.flatnonzero(labels == label) for label in np.unique(labels)))


@functools.lru_cache(maxsize=CHAPTERS_KEPT)
def _draw_chapter(drawn: Balance, number: int) -> Indices:
    """Return images and rounds of the turns that are drawn together."""
    turns = np.arange(number * TURNS_TOGETHER, (number + 1) * TURNS_TOGETHER)
    found = np.empty((2, TURNS_TOGETHER, len(drawn.members)), np.int64)
    for label, members in enumerate(drawn.members):
        rounds, places = np.divmod(turns, len(members))
        for one in range(rounds[0], rounds[-1] + 1):
            now = rounds == one
            order = _order_round(drawn.seed, one, label, len(members))
            found[0, now, label] = members[order[places[now]]]
        found[1, :, label] = rounds
    classes = np.tile(np.arange(len(drawn.members)), (TURNS_TOGETHER, 1))
    order = numbers_for(Stream.TURN, seed=drawn.seed, epoch=number).permuted(classes, axis=1)
    return np.take_along_axis(found, order[None], axis=2).reshape(2, -1)


@functools.lru_cache(maxsize=ROUNDS_KEPT)
def _order_round(seed: int, one: int, label: int, count: int) -> Indices:
    return numbers_for(Stream.ROUND, seed=seed, epoch=one, item=label).permutation(count)
