"""Random numbers by purpose, from a counter-based generator: the same on every device and in every resumed run.

Each purpose has a stream of its own, so none shifts another's numbers; what a stream holds is found by its place,
not by what was drawn before. What draws from torch's own generator, and cannot be given another, is seeded for it.
"""

import contextlib
import threading
from collections.abc import Iterator
from enum import IntEnum

import numpy as np
import torch

_drawing = threading.Lock()  # torch's generator is everyone's, and trials run side by side in threads


class Stream(IntEnum):
    """What numbers are for. Arrays and photographs, of which a trial has one kind, augment from the same numbers."""

    ORDER = 0
    AUGMENTATION = 1
    FIRST_FLIPS = 2
    HOLES = 3
    TURN = 4
    ROUND = 5
    VALIDATION = 6
    PARTS = 7
    SHIFTS = 8
    CROP = AUGMENTATION
    COLOUR = FIRST_FLIPS
    MIXING = HOLES


def numbers_for(stream: int, *, seed: int, epoch: int = 0, item: int = 0) -> np.random.Generator:
    """Return the random numbers of a stream, for an item of an epoch."""
    return np.random.Generator(np.random.Philox(key=seed, counter=[0, item, epoch, stream]))


def mix_seed(seed: int, step: int) -> int:
    """Return the seed of all that is random in iteration `step`."""
    return (seed << 32) + step


@contextlib.contextmanager
def torch_seeded(seed: int) -> Iterator[None]:
    """Let torch's generator of the CPU give the numbers of `seed`, to one thread at a time, and leave it as it was."""
    with _drawing, torch.random.fork_rng(devices=()):
        torch.default_generator.manual_seed(seed)  # not those of devices, which are not put back
        yield
