"""Batches of photographs on the device: bytes become centred floats, colours are shifted, images mixed.

Colours are shifted as in AlexNet: along the principal components of ImageNet's pixels, each by a normal number times
its eigenvalue. Mixing joins every image with its neighbour in the batch, whose order is random already.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from reslab.data.balance import balance
from reslab.data.batches import send
from reslab.data.photos.folder import PhotoDataset, PhotoSplit
from reslab.data.photos.loading import (
    CentralCrops,
    Decoded,
    TrainingCrops,
    count_workers,
    stream_batches,
    stream_tests,
)
from reslab.data.photos.sampling import WHOLE, PhotoSampler, Share
from reslab.data.photos.skipping import BadImages
from reslab.data.preprocessing import centre_pixels
from reslab.data.randomness import Stream, numbers_for
from reslab.spec import Preprocess
from reslab.spec.recipe import AugmentationSpec

# Of ImageNet's pixels from 0 to 1, RGB; a column of VECTORS is a component.
VALUES = np.array([0.2175, 0.0188, 0.0045], np.float32)
VECTORS = np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]], np.float32)
MEAN_IMAGES = 10_000  # that the mean image is taken over, where there are more


def mean_photo(split: PhotoSplit, *, resize: int, crop: int, workers: int, bad: BadImages) -> Tensor:
    """Return the mean image of a split's central crops, on a scale where white is one."""
    if len(split) > MEAN_IMAGES:
        split = split.take(np.linspace(0, len(split) - 1, MEAN_IMAGES).round().astype(np.int64))
    total = torch.zeros(3, crop, crop, dtype=torch.float64)
    crops = CentralCrops(split, Preprocess(resize=resize, crop=crop), mean_image=None)
    count = 0
    for images, _, found in stream_tests(crops, batch=50, workers=workers):
        bad.note(found, part="train")
        total += images.double().sum(0)
        count += len(images)
    return (total / count).float()


class PhotoBatches:
    """A folder of photographs that hands out training batches by their step, and test images in order.

    `side` gives that of a step's crops, where they are not all as the test's.
    """

    def __init__(
        self,
        dataset: PhotoDataset,
        *,
        augmentation: AugmentationSpec,
        preprocess: Preprocess,
        mean_image: Tensor | None,
        seed: int,
        batch: int,
        bad: BadImages,
        device: torch.device | str,
        share: Share = WHOLE,
        balanced: bool = False,
        side: Callable[[int], int] | None = None,
    ) -> None:
        whole = preprocess.crop
        assert whole is not None
        self.dataset, self.augmentation, self.preprocess = dataset, augmentation, preprocess
        self.mean_image, self.seed, self.batch, self.device = mean_image, seed, batch, torch.device(device)
        sequence = balance(dataset.train.labels, seed=seed) if balanced else None
        self.sampler = PhotoSampler(count=len(dataset.train), seed=seed, balance=sequence)
        self.crops = TrainingCrops(dataset.train, augmentation, seed=seed, skip=bad.skip)
        self.side = side or (lambda step: whole)
        self.workers, self.share = count_workers(device), share
        self.bad = bad
        self._next: int | None = None
        self._stream: Iterator[Decoded] = iter(())

    def load(self, step: int) -> tuple[Tensor, ...]:
        """Return the images and labels of an iteration; where they are mixed, the neighbours' labels and our share."""
        if step != self._next:
            self._stream = self.stream(step, workers=self.workers)
        decoded: Decoded = next(self._stream)
        self._next = step + 1
        self.bad.note(decoded.bad, part="train")
        images, labels = self._to_device(decoded)
        return self._mix(step, images, labels)

    def stream(self, first: int, *, workers: int) -> Iterator[Decoded]:
        """Yield our share of the batches from step `first` on, as bytes."""
        return stream_batches(
            self.crops,
            self.sampler,
            batch=self.batch,
            first=first,
            side=self.side,
            workers=workers,
            share=self.share,
        )

    def tests(self, split: PhotoSplit, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield every image of a split once, in order, as a network is tested on it."""
        crops = CentralCrops(split, self.preprocess, mean_image=self.mean_image)
        for images, labels, bad in stream_tests(crops, batch=size, workers=self.workers):
            self.bad.note(bad, part="test")
            if len(images):
                yield images.to(self.device), labels.to(self.device)

    def _to_device(self, decoded: Decoded) -> tuple[Tensor, Tensor]:
        pixels = send(decoded.pixels.numpy(), self.device).permute(0, 3, 1, 2).float().div_(255)
        if self.augmentation.colour:
            shifts = send((decoded.shifts.numpy() * VALUES) @ VECTORS.T, self.device)
            pixels.add_(shifts[:, :, None, None])
        centre_pixels(pixels, self.preprocess, mean_image=self.mean_image, in_place=True)
        return pixels, send(decoded.labels.numpy(), self.device)

    def _mix(self, step: int, images: Tensor, labels: Tensor) -> tuple[Tensor, ...]:
        mixup, cutmix = self.augmentation.mixup, self.augmentation.cutmix
        if not mixup and not cutmix:
            return images, labels
        random = numbers_for(Stream.MIXING, seed=self.seed, item=step)
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
        return images, labels, labels.roll(1, 0), torch.full((len(labels),), share, device=images.device)
