"""Batches of a split that stays in host memory, or in a file mapped into it; and the choice between the two kinds.

On the CPU this is the way too: windows of bytes are cropped three times as fast as pixels are gathered.

Crops and flips happen here on bytes, a quarter of what the floats would take to send; scale and mean follow on the
device, by the same arithmetic as `ResidentBatches`, so a batch is the same to the bit.
"""

import math
import os

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reslab.data.arrays.cropped import CroppedBatches
from reslab.data.arrays.order import Draw
from reslab.data.arrays.resident import Preparation, ResidentBatches, send
from reslab.data.arrays.split import ArraySplit, Bytes
from reslab.errors import UserError, choices
from reslab.runtime.memory import free_memory
from reslab.spec.augmentation import Crop

RESIDENT_FRACTION = 0.5  # of the free memory; the rest is for the network
KINDS = ("resident", "streamed")


class StreamedBatches:
    """A split in host memory that sends batches of it to the device."""

    is_resident = False

    def __init__(self, split: ArraySplit, preparation: Preparation, *, device: torch.device | str) -> None:
        self.images, self.targets = split.images, split.targets
        self.size = split.images.shape[-1]
        self.preparation = preparation
        self.brightest, self.padding = preparation.brightest, preparation.padding
        self.device = torch.device(device)
        self.mean = torch.from_numpy(preparation.mean).to(device)
        # (top, left, channel, row, column): the part of the padded mean under each crop.
        windows = preparation.pad(self.mean).unfold(1, self.size, 1).unfold(2, self.size, 1)
        self.means = windows.permute(1, 2, 0, 3, 4) if preparation.mean_first else None

    def __len__(self) -> int:
        return len(self.targets)

    def augmented(self, draw: Draw) -> tuple[Tensor, Tensor]:
        """Return the images and targets of a drawn batch."""
        pixels, targets = self._crop(draw)
        images = send(pixels, self.device) / self.brightest - self._mean_under(draw)
        return self.preparation.cut(images, draw), send(targets, self.device)

    def _crop(self, draw: Draw) -> tuple[Bytes, NDArray[np.int64]]:
        """Crop and flip the images of a drawn batch, on the host; return them with their targets."""
        padded = self.preparation.pad(torch.from_numpy(self.images[draw.indices])).numpy()
        windows = np.lib.stride_tricks.sliding_window_view(padded, (self.size, self.size), axis=(2, 3))
        pixels = windows[np.arange(len(padded)), :, draw.tops, draw.lefts]
        pixels[draw.flips] = pixels[draw.flips, :, :, ::-1]
        return pixels, self.targets[draw.indices].astype(np.int64)

    def _mean_under(self, draw: Draw) -> Tensor:
        if self.means is None:
            return self.mean
        tops, lefts, flips = (send(array, self.device) for array in (draw.tops, draw.lefts, draw.flips))
        mean = self.means[tops, lefts]
        return torch.where(flips[:, None, None, None], mean.flip(-1), mean)

    def plain(self, first: int, last: int) -> tuple[Tensor, Tensor]:
        """Return the images from `first` up to `last` as they are, mean subtracted."""
        pixels = send(np.array(self.images[first:last]), self.device)
        return pixels / self.brightest - self.mean, send(self.targets[first:last].astype(np.int64), self.device)


class PlainBatches:
    """A split of sequences or volumes, to which nothing is done but that their mean is subtracted."""

    def __init__(self, split: ArraySplit, preparation: Preparation, *, device: torch.device | str) -> None:
        self.size, self.brightest, self.device = split.images.shape[-1], preparation.brightest, torch.device(device)
        self.is_resident = is_resident(split, 0, device)
        self.images, self.targets = torch.from_numpy(split.images), torch.from_numpy(split.targets.astype(np.int64))
        if self.is_resident:
            self.images, self.targets = self.images.to(device), self.targets.to(device)
        self.mean = torch.from_numpy(preparation.mean).to(device)

    def __len__(self) -> int:
        return len(self.targets)

    def augmented(self, draw: Draw) -> tuple[Tensor, Tensor]:
        """Return the images and targets of a drawn batch."""
        return self._prepare(send(draw.indices, self.images.device))

    def plain(self, first: int, last: int) -> tuple[Tensor, Tensor]:
        """Return the images from `first` up to `last`."""
        return self._prepare(slice(first, last))

    def _prepare(self, which: Tensor | slice) -> tuple[Tensor, Tensor]:
        images, targets = (part[which].to(self.device) for part in (self.images, self.targets))
        return images / self.brightest - self.mean, targets


Batches = ResidentBatches | StreamedBatches | CroppedBatches | PlainBatches


def make_batches(
    split: ArraySplit, preparation: Preparation, *, crop: Crop = "padded", device: torch.device | str
) -> Batches:
    """Put a split on the device if it fits there well, else stream it."""
    if crop != "padded":
        resident = is_resident(split, 0, device)
        return CroppedBatches(split, preparation, resident=resident, device=device)
    if split.images.ndim != 4:
        return PlainBatches(split, preparation, device=device)
    batches = ResidentBatches if is_resident(split, preparation.padding, device) else StreamedBatches
    return batches(split, preparation, device=device)


def is_resident(split: ArraySplit, padding: int, device: torch.device | str) -> bool:
    """Whether a split belongs on the device: not on the CPU, which has it; ``RESLAB_BATCHES`` decides otherwise."""
    kind = os.environ.get("RESLAB_BATCHES")
    if not kind:
        fits = padded_bytes(split, padding) < RESIDENT_FRACTION * free_memory(device)
        return torch.device(device).type != "cpu" and fits
    if kind not in KINDS:
        raise UserError(f"RESLAB_BATCHES is '{kind}'; choose {choices(KINDS)}, or unset it")
    return kind == "resident"


def padded_bytes(split: ArraySplit, padding: int) -> int:
    """Return what a split takes where it is resident."""
    count, channels, *sides = split.images.shape
    return count * channels * math.prod(side + 2 * padding for side in sides) * split.images.itemsize
