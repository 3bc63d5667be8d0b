"""Which photograph comes when: a pure function of (seed, step), whoever computes it.

The order of an epoch is drawn at once; what happens to an image is drawn where it is decoded, from a generator of its
own, so neither workers nor a resumed run change it.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reslab.data.balance import Balance
from reslab.runtime.randomness import Stream, numbers_for

Key: TypeAlias = tuple[int, int]  # an epoch and an image
EPOCHS_KEPT = 2  # of each trial: an order of ImageNet has ten megabytes


class Order(Protocol):
    """The endless sequence of training images for one seed."""

    def draw(self, step: int, size: int) -> list[Key]:
        """Return batch number `step` of `size` images."""
        ...


@dataclass(frozen=True, kw_only=True)
class PhotoSampler:
    """The endless sequence of training images for one seed: every image once an epoch, batches run on across ends.

    Where the classes are balanced each has epochs of its own, so no image comes twice in one of them.
    """

    count: int
    seed: int
    balance: Balance | None = None

    def draw(self, step: int, size: int) -> list[Key]:
        """Return batch number `step` of `size` images."""
        start, stop = step * size, (step + 1) * size
        if self.balance is not None:
            images, epochs = self.balance.draw(start, stop)
            return list(zip(epochs.tolist(), images.tolist(), strict=True))
        keys = []
        for epoch in range(start // self.count, (stop - 1) // self.count + 1):
            before = epoch * self.count
            images = self._order(epoch)[max(start - before, 0) : stop - before]
            keys += [(epoch, image) for image in images.tolist()]
        return keys

    @functools.cached_property
    def _order(self) -> Callable[[int], NDArray[np.int64]]:
        """The order of an epoch. The one at hand and the next are kept, however many trials draw theirs by turns."""

        def draw(epoch: int) -> NDArray[np.int64]:
            return numbers_for(Stream.ORDER, seed=self.seed, epoch=epoch).permutation(self.count)

        return functools.lru_cache(maxsize=EPOCHS_KEPT)(draw)
