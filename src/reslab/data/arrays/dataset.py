"""A dataset as plain arrays, all images, sequences or volumes of one size: training, test, a fingerprint of both."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch

from reslab.data.arrays.feed import FOR_IMAGES, HEEDED, ArrayFeed, find_padding, make_feed
from reslab.data.arrays.resident import refuse_small_images
from reslab.data.arrays.split import ArraySplit
from reslab.data.arrays.streamed import is_resident, padded_bytes
from reslab.data.dataset import count_held_back
from reslab.errors import UserError
from reslab.runtime.listener import Listener
from reslab.runtime.processes import Processes
from reslab.spec.augmentation import refuse_unheeded
from reslab.spec.task_spec import Target
from reslab.spec.trial import DataSpec, SplitName, Trial


@dataclass(frozen=True, kw_only=True)
class ArrayDataset:
    """A named dataset. `brightest` is the value of a white pixel: 255, or 16 for the digits."""

    target: ClassVar[Target] = "class"
    has_files: ClassVar[bool] = False

    name: str
    class_names: tuple[str, ...]
    train: ArraySplit
    test: ArraySplit
    brightest: int = 255
    usual_recipe: str = "cifar-paper"
    usual_network: str | None = None
    held_out: bool = False
    is_known_by_size: bool = False
    root: Path | None = None
    words: Mapping[str, str] = field(default_factory=dict)

    @property
    def usual_start_recipe(self) -> str:
        """The same: small images are few pixels, which are learnt anew in minutes."""
        return self.usual_recipe

    @property
    def channels(self) -> int:
        """Of every image."""
        return self.train.images.shape[1]

    @property
    def dimensions(self) -> int:
        """One for sequences, two for images, three for volumes."""
        return self.train.images.ndim - 2

    @property
    def side(self) -> int:
        """The width of every image."""
        return self.train.images.shape[-1]

    def divide(self, split: SplitName) -> tuple[ArraySplit, ArraySplit]:
        """Return what to train and test on; for tuning, the last tenth of the training images stands in for a test."""
        if split == "full":
            return self.train, self.test
        first = len(self.train) - count_held_back(self.train, split)
        indices = np.arange(len(self.train))
        return self.train.take(indices[:first]), self.train.take(indices[first:])

    @property
    def fingerprint(self) -> str:
        """SHA-256 over all arrays: what the data is, wherever it lies."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        digest = hashlib.sha256()
        for split in (self.train, self.test):
            for array in (split.images, split.targets):
                digest.update(f"{array.shape}".encode())
                digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def read_words(self) -> Mapping[str, str]:
        """Return what classes are called in words, where names do not say it."""
        return self.words

    def read_before(self, *, held_out_seed: int) -> Iterator[ArrayDataset]:
        """Yield nothing: arrays are what they were."""
        yield from ()

    def find_trained(self, before: DataSpec) -> ArraySplit | None:
        """Return the images that a training on `before` trained on; None where that was other data."""
        return self.divide(before.split)[0] if self.fingerprint == before.fingerprint else None

    def refuse_trial(self, trial: Trial) -> None:
        """Refuse fields that are only for photographs, and fields that need larger images."""
        recipe = trial.recipe
        augmentation = recipe.augmentation
        refuse_unheeded(augmentation, HEEDED, other="photographs")
        if augmentation.crop == "resized":
            raise UserError("recipe.augmentation.crop is resized, which is only for photographs; choose shorter-side")
        if augmentation.crop == "shorter-side" and (shape := self.train.images.shape)[2:] != (self.side, self.side):
            size = "x".join(map(str, shape[2:]))
            raise UserError(
                f"recipe.augmentation.crop is shorter-side, which needs square images, but those of {self.name} are "
                f"{size}; leave out recipe.augmentation.crop"
            )
        if augmentation.colour and (augmentation.crop == "padded" or self.channels != 3):
            raise UserError(
                f"recipe.augmentation.colour is {augmentation.colour:g}, which is for photographs, and for colour "
                "images with recipe.augmentation.crop=shorter-side; leave out recipe.augmentation.colour"
            )
        for name in FOR_IMAGES if self.dimensions != 2 else ():
            if value := getattr(augmentation, name):
                off = str(type(value)(0)).lower()
                raise UserError(f"recipe.augmentation.{name} is {value}, which is for images; set it to {off}")
        if recipe.centring != "mean-image":
            raise UserError(
                f"recipe.centring is {recipe.centring}, which is only for photographs; leave out recipe.centring"
            )
        if recipe.resizing.initial != 1:
            raise UserError(
                f"recipe.resizing.initial is {recipe.resizing.initial:g}, which is only for photographs; leave out "
                "recipe.resizing.initial"
            )
        side, padding = min(self.train.images.shape[2:]), find_padding(augmentation)
        refuse_small_images(side, padding=padding, edges=augmentation.edges, cutout=augmentation.cutout)

    def list_packages(self, trial: Trial) -> Collection[str]:
        """Return the packages that make a trial's batches."""
        return {"numpy"}

    def count_bytes(self, trial: Trial, *, device: str) -> int:
        """Return the memory that the images take on a device, where they are resident."""
        padding = find_padding(trial.recipe.augmentation)
        splits = [split for split in (self.train, self.test) if is_resident(split, padding, device)]
        return sum(padded_bytes(split, padding) for split in splits)

    def make_feed(
        self, trial: Trial, *, device: torch.device | str, processes: Processes, folder: Path | None, listener: Listener
    ) -> ArrayFeed:
        """Put the images on `device`, or find them there, and return what hands out a trial's batches of them."""
        return make_feed(self, self.divide(trial.data.split), trial, device=device, processes=processes)
