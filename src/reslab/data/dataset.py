"""What every dataset is, whatever holds its images: two splits, and of each image its pixels and its target.

A kind of data is a folder here that keeps these contracts (arrays, photographs); whatever differs between kinds is an
attribute of the contract, and nobody else asks which kind it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sized
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from reslab.errors import UserError
from reslab.spec.task_spec import Target
from reslab.spec.trial import DataSpec, SplitName, Trial

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from reslab.data.feed import Feed
    from reslab.data.targets import Targets
    from reslab.runtime.listener import Listener
    from reslab.runtime.processes import Processes

TUNING_PARTS = 10  # one of them is held back


class Split(Protocol):
    """Images in an order, each with its target: a class's number, a row of labels, boxes, a mask (see `targets`)."""

    @property
    def targets(self) -> Targets:
        """What is to be learnt of every image."""
        ...

    def __len__(self) -> int: ...

    def name(self, index: int) -> str:
        """Return what an image is called."""
        ...

    def read(self, index: int) -> Tensor:
        """Return an image's bytes (channels, height, width); one that cannot be read is a `BadImage`."""
        ...

    def block(self, part: slice) -> Tensor | None:
        """Return a part of the images as one tensor (count, channels, height, width), where all are of one size."""
        ...

    def take(self, indices: slice | NDArray[np.int64]) -> Self:
        """Return the part of the split at `indices`."""
        ...

    def digests(self) -> NDArray[np.int64] | None:
        """Return what tells every image's content from any other; None where it is known otherwise, or too large."""
        ...

    def identities(self) -> NDArray[Any]:
        """Return what tells images of a dataset apart, in whatever split they are."""
        ...


class Dataset(Protocol):
    """A named dataset. `brightest` is the value of a white pixel; `target` is what is known of every image.

    `held_out` says that its test images were drawn from the training images; `is_known_by_size`, that its fingerprint
    takes other images for the same where no file is longer or shorter. `has_files` says that images are files, which
    may be bad, of any size, and in a folder, the `root`. `dimensions` counts the axes of space: sequences have one,
    images two, volumes three. `usual_start_recipe` is for trainings that start from trained weights.
    """

    target: ClassVar[Target]
    has_files: ClassVar[bool]

    @property
    def name(self) -> str: ...
    @property
    def class_names(self) -> tuple[str, ...]: ...
    @property
    def train(self) -> Split: ...
    @property
    def test(self) -> Split: ...
    @property
    def brightest(self) -> int: ...
    @property
    def channels(self) -> int: ...
    @property
    def dimensions(self) -> int: ...
    @property
    def side(self) -> int | None: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def usual_recipe(self) -> str: ...
    @property
    def usual_start_recipe(self) -> str: ...
    @property
    def usual_network(self) -> str | None: ...
    @property
    def held_out(self) -> bool: ...
    @property
    def is_known_by_size(self) -> bool: ...
    @property
    def root(self) -> Path | None: ...

    def divide(self, split: SplitName) -> tuple[Split, Split]:
        """Return what to train and test on."""
        ...

    def read_words(self) -> Mapping[str, str]:
        """Return what classes are called in words, by name, where that is known."""
        ...

    def read_before(self, *, held_out_seed: int) -> Iterator[Dataset]:
        """Yield what earlier versions made of the same data, where that was something else."""
        ...

    def find_trained(self, before: DataSpec) -> Split | None:
        """Return the images that a training on `before` trained on; None where they are not here as they were."""
        ...

    def refuse_trial(self, trial: Trial) -> None:
        """Refuse a trial whose recipe or split is not for such data."""
        ...

    def list_packages(self, trial: Trial) -> Collection[str]:
        """Return the packages that make a trial's batches."""
        ...

    def count_bytes(self, trial: Trial, *, device: str) -> int:
        """Return the memory that the images take on a device, which trials share."""
        ...

    def make_feed(
        self,
        trial: Trial,
        *,
        device: torch.device | str,
        processes: Processes,
        folder: Path | None,
        listener: Listener,
    ) -> Feed:
        """Return what feeds a trial with batches; what is found out about the images is kept in `folder`."""
        ...


def count_held_back(train: Sized, split: SplitName) -> int:
    """Return how many of the training images a split does not train on."""
    return len(train) // TUNING_PARTS if split == "tuning" else 0


def count_validation(images: int, data: DataSpec) -> int:
    """Return how many of so many images are held back to choose by; refuse to hold all of them back."""
    count = max(1, round(data.validation * images)) if data.validation else 0
    if count and count >= images:
        raise UserError(
            f"data.validation is {data.validation:g}, which leaves none of {images:,} images to train on; give a "
            "smaller fraction"
        )
    return count


def count_trained(train: Sized, data: DataSpec) -> int:
    """Return how many of a dataset's training images a trial trains on."""
    images = len(train) - count_held_back(train, data.split)
    return images - count_validation(images, data)
