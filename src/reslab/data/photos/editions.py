"""How a folder of photographs is read, as versions of this package have done it: what is drawn, ordered and known.

Runs know their data by a fingerprint, and each edition has its own wherever it differs: so a run of before is read as
it was, and nothing else need be written down.

Where a folder has nothing to test on, about a fifth is held out for that, drawn by a seed. An image is drawn by its own
name: it stays on its side when others are added, or classes, unless its class is so small that one had to be put there.
The first edition drew by position, so that one image more shuffled all.
"""

import hashlib
from collections.abc import Iterable, Sequence
from enum import IntEnum
from pathlib import PurePosixPath

import numpy as np
from numpy.typing import NDArray

from reslab.errors import UserError
from reslab.runtime.randomness import Stream, numbers_for

# What these hold is as large as the image is wide and high, whatever it shows.
UNCOMPRESSED = {".bmp", ".ppm", ".pgm", ".tif", ".tiff"}
HELD_OUT = 0.2
Held = NDArray[np.bool_]


class Edition(IntEnum):
    """FIRST held images out by position, sorted classes 0 to 10 as text and knew every file by its size alone."""

    FIRST = 1
    SECOND = 2


CURRENT = Edition.SECOND


def sort_classes(names: Iterable[str], edition: Edition) -> list[str]:
    """Return classes in the order of their labels: by name, and where all are numbers, by number."""
    names = sorted(names)
    if edition is not Edition.FIRST and all(name.isdecimal() for name in names):
        return sorted(names, key=int)
    return names


def needs_content(file: str, edition: Edition) -> bool:
    """Whether a file's size does not tell it from another of the same name."""
    return edition is not Edition.FIRST and PurePosixPath(file).suffix.lower() in UNCOMPRESSED


def draw_held_out(files: Sequence[str], targets: NDArray[np.int64], *, seed: int, edition: Edition) -> Held:
    """Return which images are held out: targets are rows of labels, or classes, whose images lie side by side."""
    refuse_seed(seed)
    if targets.ndim > 1:
        by_position = edition is Edition.FIRST
        return (
            _draw_labelled_by_position(targets, seed) if by_position else _draw_labelled_by_name(files, targets, seed)
        )
    held, first = np.zeros(len(files), bool), 0
    for label, count in enumerate(np.bincount(targets).tolist()):
        of_class = slice(first, first + count)
        if edition is Edition.FIRST:
            order = numbers_for(label, seed=seed).permutation(count)
            held[of_class][order[: max(1, round(HELD_OUT * count))]] = True
        else:
            held[of_class] = _draw_by_name(files[of_class], seed)
        first += count
    return held


def refuse_seed(seed: int) -> None:
    """Refuse a seed that draws nothing."""
    if seed < 0:
        raise UserError(f"data.held_out_seed is {seed}; give a whole number of 0 or more")


def _draw_by_name(files: Sequence[str], seed: int) -> Held:
    """Hold out about a fifth of a class, one image at least, and never all."""
    lots = _draw_lots(files, seed)
    held = lots < HELD_OUT
    held[lots.argmin()] = True
    held[lots.argmax()] = False
    return held


def _draw_labelled_by_name(files: Sequence[str], labels: NDArray[np.int64], seed: int) -> Held:
    """Leave every class an image to train on, and one to test on where another is left to train on."""
    lots = _draw_lots(files, seed)
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


def _draw_labelled_by_position(labels: NDArray[np.int64], seed: int) -> Held:
    """Hold out a fifth of every class, the rarest first, as the first edition did."""
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


def _draw_lots(files: Sequence[str], seed: int) -> NDArray[np.float64]:
    """Return a number from 0 to 1 for each file: a function of its name and the seed alone."""
    digests = (hashlib.sha256(f"{seed} {file}".encode(errors="surrogateescape")).digest() for file in files)
    return np.array([int.from_bytes(digest[:8]) for digest in digests], np.float64) / 2.0**64
