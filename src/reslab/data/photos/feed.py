"""What feeds a training with photographs: crops by worker processes, centred, coloured and mixed on the device.

Tested on the central crop, the shorter side being 256 for crops of 224 and in proportion for others; centred by the
mean image of the training images (the paper's way) or by ImageNet's mean and deviation (the common one); or all of it
as the weights know it that the training starts from.
Mixing joins every image with its neighbour in the batch, whose order is random already.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import numpy as np
import torch
from torch import Tensor

from reslab.data.arrays.order import take_share
from reslab.data.arrays.resident import send
from reslab.data.balance import balance
from reslab.data.colour import find_shifts
from reslab.data.geometry import find_test_side
from reslab.data.photos.bad_images import BadImages, Part, follow_bad
from reslab.data.photos.crops import Decoded, TrainingCrops, Wanted
from reslab.data.photos.folder import PhotoDataset, PhotoSplit
from reslab.data.photos.order import Order, PhotoSampler
from reslab.data.photos.resizing import crop_side
from reslab.data.preprocessing import WHITE, centre_pixels, preprocess_images
from reslab.data.reading import OnBad, read_in_order
from reslab.data.targets import Targets
from reslab.data.validation import hold_back
from reslab.data.workers import count_workers, work_ahead
from reslab.runtime.execution import Execution
from reslab.runtime.listener import Listener
from reslab.runtime.processes import Processes
from reslab.runtime.randomness import Stream, numbers_for
from reslab.runtime.sealed import read_sealed, write_sealed
from reslab.spec import Preprocess
from reslab.spec.preprocess import IMAGENET_MEAN, IMAGENET_STD
from reslab.spec.trial import Trial

EVALUATION_BATCH = 50
MEAN = "mean_image"
MEAN_IMAGES = 10_000  # that the mean image is taken over, where there are more


@dataclass(kw_only=True)
class PhotoFeed:
    """Batches of photographs, by their step, and test images in order; `held` were held back from those to train on.

    `tests_of` says what a bad image among those tested on counts for.
    """

    trial: Trial
    dataset: PhotoDataset
    preprocess: Preprocess
    mean_image: Tensor | None
    sampler: Order
    crops: TrainingCrops
    bad: BadImages
    execution: Execution
    processes: Processes
    device: torch.device
    is_resident: bool = False
    held: PhotoSplit | None = None
    tests_of: Part = "test"
    # Batches made ahead, and the step of the next; none at first.
    stream: Iterator[Decoded] = field(default=iter(()), init=False)
    next_step: int | None = field(default=None, init=False)

    @property
    def image_shape(self) -> tuple[int, ...]:
        """What the network is given: channels, height, width."""
        return self.trial.network.input_shape

    @property
    def targets(self) -> Targets:
        """The targets of all images to train on."""
        return self.dataset.train.targets

    @property
    def validation(self) -> Self | None:
        """The same with the images held back from training to test on."""
        if self.held is None:
            return None
        return replace(self, dataset=replace(self.dataset, test=self.held), held=None, tests_of="train")

    @property
    def num_tests(self) -> int:
        """How many test images all processes have together."""
        return len(self.dataset.test)

    @property
    def num_skipped_tests(self) -> int:
        """How many test images could not be read."""
        return self.bad.count("test")

    @property
    def tested(self) -> range:
        """Which of the test images are this process's."""
        return range(self.num_tests)[self.processes.share(self.num_tests)]

    def load(self, step: int, count: int) -> tuple[Tensor, ...]:
        """Return the batches of `count` iterations from `step` on, or of those whose images are as large as its."""
        shape = self.find_shape(step)
        alike = itertools.takewhile(lambda number: self.find_shape(number) == shape, range(step, step + count))
        loaded = [self._load(number) for number in alike]
        images, *rest = zip(*loaded, strict=True)
        prepared = torch.stack([self.execution.prepare(image) for image in images])
        return prepared, *[torch.stack(part) for part in rest]

    def tests(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Yield every test image of this process's share once, with its target and its number."""
        split = self.dataset.test.take(slice(self.tested.start, self.tested.stop))
        for images, targets, indices in _prepare(
            split,
            self.preprocess,
            mean_image=self.mean_image,
            device=self.device,
            on_bad=self.bad.noting(self.tests_of),
        ):
            yield self.execution.prepare(images), targets, self.tested.start + indices

    def share_skipped(self) -> int:
        """Let all processes know what images any has skipped; return how many of those were to be trained on."""
        if self.bad.skip:
            for skipped in self.processes.ask_all(list(self.bad.skipped.values())):
                self.bad.add(skipped)
        return self.bad.count("train")

    def name_images(self, step: int) -> str:
        """Say which training images iteration `step` sees."""
        keys = self.sampler.draw(step, self.trial.recipe.batch)
        names = [self.dataset.train.files[image] for _, image in keys[:4]]
        return ", ".join(names) + (", ..." if len(keys) > len(names) else "")

    def wanted(self, first: int) -> Iterator[Wanted]:
        """Yield the shape and the keys of our share of every batch from step `first` on, without end."""
        batch, parts = self.trial.recipe.batch, self.trial.recipe.accumulate
        ours = take_share(np.arange(batch), self.processes.rank, self.processes.count, parts=parts)
        for step in itertools.count(first):
            keys = self.sampler.draw(step, batch)
            yield self.find_shape(step), [keys[place] for place in ours]

    def find_shape(self, step: int) -> int:
        """Return what says the shape of an iteration's images: the side of its crops."""
        return crop_side(self.trial.recipe, step, whole=self.trial.network.input_shape[-1])

    def _load(self, step: int) -> tuple[Tensor, ...]:
        """Return the images and targets of an iteration; where they are mixed, the neighbours' and our share."""
        if step != self.next_step:
            self.stream = work_ahead(self.crops, self.wanted(step), workers=count_workers(self.device))
        decoded = next(self.stream)
        self.next_step = step + 1
        for error in decoded.bad:
            self.bad.note(error, part="train")
        return self._mix(step, *self._to_device(decoded))

    def _to_device(self, decoded: Decoded) -> tuple[Tensor, Tensor]:
        pixels = send(decoded.pixels.numpy(), self.device).permute(0, 3, 1, 2).float().div_(255)
        if self.trial.recipe.augmentation.colour:
            pixels.add_(send(find_shifts(decoded.shifts.numpy()), self.device)[:, :, None, None])
        if self.preprocess.channel_order == "BGR":
            pixels = pixels.flip(1)
        if (white := WHITE[self.preprocess.pixel_range]) != 1:
            pixels.mul_(white)
        centre_pixels(pixels, self.preprocess, mean_image=self.mean_image, in_place=True)
        return pixels, send(decoded.targets.numpy(), self.device)

    def _mix(self, step: int, images: Tensor, targets: Tensor) -> tuple[Tensor, ...]:
        mixup, cutmix = self.trial.recipe.augmentation.mixup, self.trial.recipe.augmentation.cutmix
        if not mixup and not cutmix:
            return images, targets
        random = numbers_for(Stream.MIXING, seed=self.trial.seed, item=step)
        cut = bool(cutmix) and (not mixup or random.random() < 0.5)
        alpha = cutmix if cut else mixup
        share = float(random.beta(alpha, alpha))
        others = images.roll(1, 0)
        if cut:
            side = images.shape[-1]
            hole = round(side * math.sqrt(1 - share))
            top, left = (int(place) for place in random.integers(0, side - hole, 2, endpoint=True))
            images = images.clone()
            images[..., top : top + hole, left : left + hole] = others[..., top : top + hole, left : left + hole]
            share = 1 - hole**2 / side**2
        else:
            images = share * images + (1 - share) * others
        return images, targets, targets.roll(1, 0), torch.full((len(targets),), share, device=images.device)


def make_feed(
    dataset: PhotoDataset,
    trial: Trial,
    *,
    device: torch.device | str,
    processes: Processes,
    folder: Path | None,
    listener: Listener,
) -> PhotoFeed:
    """Pair a trial with a folder of photographs; the listener is told of those that are skipped.

    The run's `folder` has what was skipped in earlier sittings, and the mean image where one is subtracted: it is
    computed once, by the first of several processes, and handed on.
    """
    recipe, whole = trial.recipe, dataset
    train, held = hold_back(whole.train, trial.data)
    dataset = replace(whole, train=train)
    bad = follow_bad(whole, trial, processes=processes, folder=folder, listener=listener)
    crop = trial.network.input_shape[-1]
    geometry = Preprocess(resize=find_test_side(crop), crop=crop)
    mean_image, preprocess = None, trial.preprocess or replace(geometry, mean=IMAGENET_MEAN, std=IMAGENET_STD)
    if recipe.centring == "mean-image" and trial.preprocess is None:
        mean_image, preprocess = torch.empty(3, crop, crop), replace(geometry, per_pixel_mean=True)
        if processes.first:
            mean_image = _find_mean(dataset.train, geometry, folder=folder, bad=bad, device=device)
        processes.take_from_first([mean_image])
    sequence = balance(dataset.train.targets, seed=trial.seed) if recipe.sampling == "balanced" else None
    return PhotoFeed(
        trial=trial,
        dataset=dataset,
        preprocess=preprocess,
        mean_image=mean_image,
        sampler=PhotoSampler(count=len(dataset.train), seed=trial.seed, balance=sequence),
        crops=TrainingCrops(dataset.train, recipe.augmentation, seed=trial.seed, skip=bad.skip, target=dataset.target),
        bad=bad,
        execution=Execution(channels_last=recipe.channels_last, precision=recipe.precision),
        processes=processes,
        device=torch.device(device),
        held=held,
    )


def _find_mean(
    split: PhotoSplit, geometry: Preprocess, *, folder: Path | None, bad: BadImages, device: torch.device | str
) -> Tensor:
    """Return the mean image as a run has it, or compute it and keep it there."""
    place = folder / "mean.safetensors" if folder else None
    if place is not None and place.exists():
        return read_sealed(place)[0][MEAN]
    mean_image = mean_photo(split, geometry, bad=bad, device=device)
    if place is not None:
        write_sealed(place, {MEAN: mean_image}, {})
    return mean_image


def mean_photo(split: PhotoSplit, geometry: Preprocess, *, bad: BadImages, device: torch.device | str) -> Tensor:
    """Return the mean image of a split's central crops, on a scale where white is one."""
    if len(split) > MEAN_IMAGES:
        split = split.take(np.linspace(0, len(split) - 1, MEAN_IMAGES).round().astype(np.int64))
    total, count = torch.zeros((), dtype=torch.float64, device=device), 0
    for images, *_ in _prepare(split, geometry, mean_image=None, device=device, on_bad=bad.noting("train")):
        total = total + images.double().sum(0)
        count += len(images)
    return (total / count).float().cpu()


def _prepare(
    split: PhotoSplit, preprocess: Preprocess, *, mean_image: Tensor | None, device: torch.device | str, on_bad: OnBad
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Yield every image once, in order, prepared on the device as a network is tested on it; targets and numbers."""
    for batch in read_in_order(split, EVALUATION_BATCH, device=device, on_bad=on_bad):
        options = {"brightest": 255, "mean_image": mean_image}
        images = torch.cat([preprocess_images(image, preprocess, **options) for image in batch.images])
        yield images, batch.targets, torch.tensor(batch.indices)
