"""Random numbers by purpose, from a counter-based generator: the same on every device and in every resumed run.

Each purpose has a stream of its own, so none shifts another's numbers; what a stream holds is found by its place,
not by what was drawn before.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Stream(IntEnum):
    """What numbers are for. Arrays and photographs, of which a trial has one kind, augment from the same numbers."""

    ORDER = 0
    AUGMENTATION = 1
    FIRST_FLIPS = 2
    HOLES = 3
    TURN = 4
    ROUND = 5
    CROP = AUGMENTATION
    COLOUR = FIRST_FLIPS
    MIXING = HOLES


def numbers_for(stream: int, *, seed: int, epoch: int = 0, item: int = 0) -> np.random.Generator:
    """Return the random numbers of a stream, for an item of an epoch."""
    return np.random.Generator(np.random.Philox(key=seed, counter=[0, item, epoch, stream]))
