"""Which images of a folder are held out for the test, where it has none for that: about a fifth, drawn by a seed.

An image is drawn by its own name: it stays on its side when others are added, or classes, unless its class is so small
that one had to be put there. Versions before drew by position, so that one image more shuffled all; runs of then are
read as they were.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reslab.errors import UserError
from reslab.runtime.randomness import Stream, numbers_for

HELD_OUT = 0.2
Held = NDArray[np.bool_]


def draw_by_name(files: Sequence[str], *, seed: int) -> Held:
    """Return which images of a class are held out: about a fifth, one at least, and never all."""
    lots = _draw_lots(files, seed=seed)
    held = lots < HELD_OUT
    held[lots.argmin()] = True
    held[lots.argmax()] = False
    return held


def draw_labelled_by_name(files: Sequence[str], labels: NDArray[np.int64], *, seed: int) -> Held:
    """Return which images with a row of labels each are held out: about a fifth.

    Every class keeps an image to train on, and has one to test on where another is left to train on.
    """
    lots = _draw_lots(files, seed=seed)
    held = lots < HELD_OUT
    rarest_first = [np.flatnonzero(labels[:, label]) for label in np.argsort(labels.sum(0), kind="stable")]
    for shown in filter(len, rarest_first):
        if held[shown].all():
            held[shown[lots[shown].argmax()]] = False
    trained = labels[~held].sum(0)
    for shown in rarest_first:
        spare = (image for image in shown[lots[shown].argsort()] if (trained > labels[image])[labels[image] == 1].all())
        if not held[shown].any() and (image := next(spare, None)) is not None:
            held[image] = True
            trained -= labels[image]
    return held


def draw_by_position(count: int, *, seed: int, stream: int) -> Held:
    """Return which of a class's images versions before held out; `stream` is the class's number."""
    refuse_seed(seed)
    held = np.zeros(count, bool)
    held[numbers_for(stream, seed=seed).permutation(count)[: max(1, round(HELD_OUT * count))]] = True
    return held


def draw_labelled_by_position(labels: NDArray[np.int64], *, seed: int) -> Held:
    """Return which images with a row of labels each versions before held out: of every class, the rarest first."""
    refuse_seed(seed)
    order = numbers_for(Stream.ORDER, seed=seed).permutation(len(labels))
    held, undecided = np.zeros((2, len(labels)), bool)
    undecided[:] = True
    counts = labels.sum(0)
    for label in np.argsort(counts, kind="stable"):
        shown = labels[:, label] == 1
        wanted = max(1, round(HELD_OUT * counts[label])) if counts[label] > 1 else 0
        open_ones = order[(shown & undecided)[order]]
        held[open_ones[: max(0, wanted - np.count_nonzero(held & shown))]] = True
        undecided &= ~shown
    unlabelled = order[undecided[order]]
    held[unlabelled[: round(HELD_OUT * len(unlabelled))]] = True
    return held


def refuse_seed(seed: int) -> None:
    """Refuse a seed that draws nothing."""
    if seed < 0:
        raise UserError(f"data.held_out_seed is {seed}; give a whole number of 0 or more")


def _draw_lots(files: Sequence[str], *, seed: int) -> NDArray[np.float64]:
    """Return a number from 0 to 1 for each file: a function of its name and the seed alone."""
    refuse_seed(seed)
    digests = (hashlib.sha256(f"{seed} {file}".encode(errors="surrogateescape")).digest() for file in files)
    return np.array([int.from_bytes(digest[:8]) for digest in digests], np.float64) / 2.0**64
