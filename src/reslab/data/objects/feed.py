"""What feeds a training with whole images and their boxes: batches of images of one shape, padded with zeros.

Images are centred by mean colour and deviation: the common ones, or those of the weights that the training starts from.
Boxes are in the pixels of the images as they are shown; each image's frame says how much of it is not padding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reslab.data.arrays.resident import send
from reslab.data.objects.dataset import ObjectsDataset
from reslab.data.objects.fitting import Fitting
from reslab.data.objects.like_shapes import ShapedSampler
from reslab.data.objects.whole_images import TestImages, WholeImages, arrange_tests
from reslab.data.photos.bad_images import follow_bad
from reslab.data.photos.crops import Decoded
from reslab.data.photos.feed import PhotoFeed
from reslab.data.preprocessing import preprocess_images
from reslab.data.reading import BadImage, decode_ahead
from reslab.data.targets import move_target
from reslab.data.validation import hold_back
from reslab.runtime.execution import Execution
from reslab.runtime.listener import Listener
from reslab.runtime.processes import Processes
from reslab.spec import Preprocess
from reslab.spec.boxes import BOTTOM, HEIGHT, RIGHT, WIDTH
from reslab.spec.preprocess import IMAGENET_MEAN, IMAGENET_STD
from reslab.spec.trial import Trial

TESTED_TOGETHER = 4  # images, at most


@dataclass(kw_only=True)
class ObjectsFeed(PhotoFeed):
    """Batches of whole images, by their step, and test images by their shapes."""

    dataset: ObjectsDataset  # pyright: ignore[reportIncompatibleVariableOverride]
    sampler: ShapedSampler  # pyright: ignore[reportIncompatibleVariableOverride]
    fitting: Fitting

    @property
    def image_shape(self) -> tuple[int, ...]:
        """The largest that the network is given in training: channels, height, width."""
        return 3, *self.fitting.shapes[self.sampler.shapes.max()]

    def find_shape(self, step: int) -> int:
        """Return the number of the shape that an iteration's images have."""
        return self.sampler.find_shape(step, self.trial.recipe.batch)

    def tests(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Yield every test image of this process's share once, with its target and its number; like shapes together."""
        split = self.dataset.test.take(slice(self.tested.start, self.tested.stop))
        images, note = arrange_tests(split, self.fitting), self.bad.noting(self.tests_of)

        def on_bad(index: int, error: BadImage) -> None:
            note(int(images.order[index]), error)

        decoded = decode_ahead(self.device, images, on_bad=on_bad)
        for _, together in groupby(decoded, key=lambda one: images.shapes[one[0]]):
            for places, pixels in _batch(together):
                numbers = images.order[places]
                targets = send(_move_targets(images, numbers), self.device)
                yield self._prepare(pixels, targets), targets, self.tested.start + torch.from_numpy(numbers)

    def _prepare(self, pixels: Tensor, targets: Tensor) -> Tensor:
        """Return bytes that are resized already as the network is shown them."""
        prepared = preprocess_images(pixels, replace(self.preprocess, resize=None), brightest=255)
        return self.execution.prepare(clear_padding(prepared, targets))

    def _to_device(self, decoded: Decoded) -> tuple[Tensor, Tensor]:
        pixels, targets = super()._to_device(decoded)
        return clear_padding(pixels, targets), targets


def clear_padding(images: Tensor, targets: Tensor) -> Tensor:
    """Return images (count, channels, height, width) that are zero outside of their frames."""
    height, width = images.shape[-2:]
    frames = targets[:, 0]
    across = torch.arange(width, device=images.device) < frames[:, RIGHT, None]
    down = torch.arange(height, device=images.device) < frames[:, BOTTOM, None]
    return images.masked_fill(~(down[:, None, :, None] & across[:, None, None, :]), 0)


def _batch(decoded: Iterator[tuple[int, Tensor]]) -> Iterator[tuple[NDArray[np.int64], Tensor]]:
    """Yield the places and the pixels of some images at a time."""
    places: list[int] = []
    images: list[Tensor] = []
    for place, image in decoded:
        places.append(place)
        images.append(image)
        if len(places) == TESTED_TOGETHER:
            yield np.array(places), torch.stack(images)
            places, images = [], []
    if places:
        yield np.array(places), torch.stack(images)


def _move_targets(images: TestImages, numbers: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the targets of images in the pixels in which they are shown."""
    moved = []
    for target in images.split.targets[numbers]:
        width, height = target[0, [WIDTH, HEIGHT]].astype(int).tolist()
        moved.append(move_target("boxes", target, images.fitting.place(width, height)))
    return np.stack(moved)


def make_feed(
    dataset: ObjectsDataset,
    trial: Trial,
    *,
    device: torch.device | str,
    processes: Processes,
    folder: Path | None,
    listener: Listener,
) -> ObjectsFeed:
    """Pair a trial with images with objects; the run's `folder` has what was skipped in earlier sittings."""
    recipe, whole = trial.recipe, dataset
    train, held = hold_back(whole.train, trial.data)
    bad = follow_bad(whole, trial, processes=processes, folder=folder, listener=listener)
    assert trial.task.sides is not None
    fitting = Fitting(*trial.task.sides)
    usual = trial.preprocess or Preprocess(mean=IMAGENET_MEAN, std=IMAGENET_STD)
    pictures = WholeImages(train, recipe.augmentation, seed=trial.seed, skip=bad.skip, fitting=fitting)
    return ObjectsFeed(
        trial=trial,
        dataset=replace(whole, train=train),
        preprocess=replace(usual, resize=fitting.shorter, crop=None, interpolation="bilinear"),
        mean_image=None,
        sampler=ShapedSampler(shapes=pictures.shapes.numpy(), seed=trial.seed),
        crops=pictures,
        bad=bad,
        execution=Execution(channels_last=recipe.channels_last, precision=recipe.precision),
        processes=processes,
        device=torch.device(device),
        held=held,
        fitting=fitting,
    )
