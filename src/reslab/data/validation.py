"""Images held back from training to choose by: the best weights, and when to stop. They are never those of a test.

A class gives about its share of them. They are a function of the data and of `data.held_out_seed` alone.
"""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from reslab.data.dataset import Split, count_validation
from reslab.runtime.randomness import Stream, numbers_for
from reslab.spec.trial import DataSpec

S = TypeVar("S", bound=Split)


def hold_back(train: S, data: DataSpec) -> tuple[S, S | None]:
    """Return what is trained on, and what is chosen by, where the data asks for that."""
    drawn = draw_held_back(train, data)
    if not len(drawn):
        return train, None
    return train.take(np.setdiff1d(np.arange(len(train)), drawn)), train.take(drawn)


def draw_held_back(train: Split, data: DataSpec) -> NDArray[np.int64]:
    """Return which of the training images are held back, in their order."""
    count = count_validation(len(train), data)
    shuffled = numbers_for(Stream.VALIDATION, seed=data.held_out_seed).permutation(len(train))
    if train.targets.ndim == 1:  # class by class, so that every so-many-th image comes from all of them
        shuffled = shuffled[np.argsort(train.targets[shuffled], kind="stable")]
    return np.sort(shuffled[((np.arange(count) + 0.5) * len(train) / max(1, count)).astype(np.int64)])
