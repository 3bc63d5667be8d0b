"""A dataset as plain arrays: images and labels, training and test, and a fingerprint of both."""

from __future__ import annotations

import hashlib
from collections.abc import Sized
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from reslab.spec.trial import SplitName, TaskName

Bytes = NDArray[np.uint8]
TUNING_PARTS = 10  # one of them is held back


@dataclass(frozen=True)
class Split:
    """Images (count, channels, height, width) and their labels, one byte a value."""

    images: Bytes
    labels: Bytes

    def __len__(self) -> int:
        return len(self.labels)

    def digests(self) -> None:
        """Return nothing: what is here by name is known by its fingerprint, and not image by image."""
        return

    def identities(self) -> NDArray[np.int64]:
        """Return what tells images of a dataset apart, in whatever split they are: their pixels, as digests."""
        digests = (hashlib.sha256(np.ascontiguousarray(image).data).digest() for image in self.images)
        return np.frombuffer(b"".join(digest[:8] for digest in digests), np.int64)

    def take(self, indices: slice | NDArray[np.int64]) -> Split:
        """Return the part of the split at `indices`."""
        return Split(self.images[indices], self.labels[indices])


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """A named dataset. `brightest` is the value of a white pixel: 255, or 16 for the digits."""

    task: ClassVar[TaskName] = "classification"
    is_known_by_size: ClassVar[bool] = False

    name: str
    class_names: tuple[str, ...]
    train: Split
    test: Split
    brightest: int = 255

    @property
    def channels(self) -> int:
        """Of every image."""
        return self.train.images.shape[1]

    @property
    def side(self) -> int:
        """The width of every image."""
        return self.train.images.shape[-1]

    def divide(self, split: SplitName) -> tuple[Split, Split]:
        """Return what to train and test on; for tuning, the last tenth of the training images stands in for a test."""
        if split == "full":
            return self.train, self.test
        first = len(self.train) - count_held_back(self.train, split)
        indices = np.arange(len(self.train))
        return self.train.take(indices[:first]), self.train.take(indices[first:])

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over all arrays: what the data is, wherever it lies."""
        digest = hashlib.sha256()
        for split in (self.train, self.test):
            for array in (split.images, split.labels):
                digest.update(f"{array.shape}".encode())
                digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()


def count_held_back(train: Sized, split: SplitName) -> int:
    """Return how many of the training images a split does not train on."""
    return len(train) // TUNING_PARTS if split == "tuning" else 0
