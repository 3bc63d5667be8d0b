"""What feeds a training with images of one size: where they lie, in which order they come, how they are tested."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol
from weakref import WeakValueDictionary

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reslab.data.arrays.cropped import describe_crops
from reslab.data.arrays.order import Sampler
from reslab.data.arrays.resident import Preparation, per_pixel_mean
from reslab.data.arrays.split import ArraySplit
from reslab.data.arrays.streamed import Batches, make_batches
from reslab.data.balance import balance
from reslab.data.geometry import ShorterSides
from reslab.data.validation import draw_held_back, hold_back
from reslab.runtime.execution import Execution
from reslab.runtime.processes import Processes
from reslab.spec import Preprocess
from reslab.spec.augmentation import AugmentationSpec
from reslab.spec.preprocess import PER_PIXEL_MEAN
from reslab.spec.trial import Trial

EVALUATION_BATCH = 500
# What is done to images here, and not to sequences or volumes; the rest says how, or says more of photographs' crops.
FOR_IMAGES = ("padding", "flip", "alternating_flips", "cutout")
HEEDED = (*FOR_IMAGES, "mean_first", "edges", "crop", "sides", "areas", "colour")


class Source(Protocol):
    """As much of a dataset as lies on a device."""

    @property
    def brightest(self) -> int:
        """The value of a white pixel."""
        ...


@dataclass(frozen=True, eq=False)
class Placement:
    """A dataset on a device, there as long as someone holds this; `source` is held because it is known by identity.

    `targets` are those of the training images, here, and `numbers` which of the dataset's they are; `validation` are
    images held back from these.
    """

    source: Source
    targets: NDArray[np.int64]
    numbers: NDArray[np.int64]
    train: Batches
    test: Batches
    validation: Batches | None = None


_placing = threading.Lock()
_placements: WeakValueDictionary[tuple[object, ...], Placement] = WeakValueDictionary()


@dataclass(frozen=True, kw_only=True)
class ArrayFeed:
    """Batches of images of one size, which lie on a device or go there."""

    trial: Trial
    data: Placement
    sampler: Sampler
    execution: Execution
    processes: Processes

    @property
    def image_shape(self) -> tuple[int, ...]:
        """What the network is given: channels, height, width."""
        return tuple(self.data.train.mean.shape)

    @property
    def preprocess(self) -> Preprocess:
        """What happens to an image before the network."""
        side = self.data.test.size
        return PER_PIXEL_MEAN if self.trial.recipe.augmentation.crop == "padded" else describe_crops(side)

    @property
    def mean_image(self) -> Tensor:
        """The mean of the training images."""
        return self.data.test.mean

    @property
    def targets(self) -> NDArray[np.int64]:
        """The classes of all images to train on."""
        return self.data.targets

    @property
    def validation(self) -> ArrayFeed | None:
        """The same with the images held back from training to test on."""
        held = self.data.validation
        return None if held is None else replace(self, data=replace(self.data, test=held, validation=None))

    @property
    def num_tests(self) -> int:
        """How many test images all processes have together."""
        return len(self.data.test)

    @property
    def tested(self) -> range:
        """Which of the test images are this process's."""
        return range(self.num_tests)[self.processes.share(self.num_tests)]

    @property
    def num_skipped_tests(self) -> int:
        """Images in memory are never bad."""
        return 0

    @property
    def is_resident(self) -> bool:
        """Whether the test images lie on the device."""
        return self.data.test.is_resident

    def load(self, step: int, count: int) -> tuple[Tensor, Tensor]:
        """Return the augmented images and the targets of `count` iterations from `step` on: this process's share."""
        recipe, processes = self.trial.recipe, self.processes
        draw = self.sampler.draw(step, recipe.batch, count=count)
        draw = draw.share(processes.rank, processes.count, parts=count * recipe.accumulate)
        images, targets = self.data.train.augmented(draw)
        batch = recipe.batch // processes.count
        return self.execution.prepare(images).unflatten(0, (count, batch)), targets.unflatten(0, (count, batch))

    def tests(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Yield every test image of this process's share once, with its target and its number."""
        share = self.tested
        for first in range(share.start, share.stop, EVALUATION_BATCH):
            last = min(first + EVALUATION_BATCH, share.stop)
            images, targets = self.data.test.plain(first, last)
            yield self.execution.prepare(images), targets, torch.arange(first, last)

    def name_images(self, step: int) -> str:
        """Say which training images iteration `step` sees."""
        indices = self.data.numbers[self.sampler.draw(step, self.trial.recipe.batch).indices]
        return ", ".join(map(str, indices[:8])) + (", ..." if len(indices) > 8 else "")

    def share_skipped(self) -> int:
        """Images in memory are never bad."""
        return 0


def make_feed(
    source: Source,
    splits: tuple[ArraySplit, ArraySplit],
    trial: Trial,
    *,
    device: torch.device | str,
    processes: Processes,
) -> ArrayFeed:
    """Put a trial's images on `device` and return what hands out batches of them."""
    augmentation, recipe = trial.recipe.augmentation, trial.recipe
    data = place(source, splits, trial, device=device)
    padded = augmentation.crop == "padded"
    sampler = Sampler(
        count=len(data.train),
        seed=trial.seed,
        padding=find_padding(augmentation),
        flip=augmentation.flip,
        alternating_flips=augmentation.alternating_flips,
        hole_places=data.train.size - augmentation.cutout + 1 if augmentation.cutout else 1,
        crops=None if padded else ShorterSides(augmentation.sides, data.train.size),
        colour=augmentation.colour,
        balance=balance(data.targets, seed=trial.seed) if recipe.sampling == "balanced" else None,
    )
    execution = Execution(channels_last=recipe.channels_last, precision=recipe.precision)
    return ArrayFeed(trial=trial, data=data, sampler=sampler, execution=execution, processes=processes)


def find_padding(augmentation: AugmentationSpec) -> int:
    """Return how many pixels images are padded with: none where parts of them are resized instead."""
    return augmentation.padding if augmentation.crop == "padded" else 0


def place(
    source: Source, splits: tuple[ArraySplit, ArraySplit], trial: Trial, *, device: torch.device | str
) -> Placement:
    """Put a dataset's splits on `device`, or return them as they lie there for others who train on them just now."""
    augmentation = trial.recipe.augmentation
    key = (id(source), trial.data, augmentation, str(device))
    with _placing:
        placement = _placements.get(key)
        if placement is None:
            (train, held), test = hold_back(splits[0], trial.data), splits[1]
            training = Preparation(
                mean=per_pixel_mean(train, brightest=source.brightest),
                brightest=source.brightest,
                padding=find_padding(augmentation),
                mean_first=augmentation.mean_first,
                edges=augmentation.edges,
                cutout=augmentation.cutout,
            )
            plain = replace(training, padding=0)
            placement = _placements[key] = Placement(
                source=source,
                targets=train.targets.astype(np.int64),
                numbers=np.delete(np.arange(len(splits[0])), draw_held_back(splits[0], trial.data)),
                train=make_batches(train, training, crop=augmentation.crop, device=device),
                test=make_batches(test, plain, crop=augmentation.crop, device=device),
                validation=None if held is None else make_batches(held, plain, crop=augmentation.crop, device=device),
            )
            if torch.device(device).type == "cuda":
                torch.cuda.current_stream(device).synchronize()  # others read it on streams of their own
        return placement
