"""Batches made on the device the images live on: crop, flip and mean in one gather.

An image of the batch is ``crop(pad(x - mean))``: the mean is subtracted first, so what the padding adds is zero; or,
with `mean_first` off, ``crop(pad(x)) - mean`` (docs/deviations.md). Bytes stay bytes until they are gathered.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from reslab.data.dataset import Split
from reslab.data.sampling import Draw


def per_pixel_mean(split: Split, *, brightest: int) -> NDArray[np.float32]:
    """Return the mean image of a split on a scale where white is one (channels, height, width)."""
    return (split.images.mean(0, dtype=np.float64) / brightest).astype(np.float32)


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """How pixels become a network's input: divided by `brightest`, the mean image subtracted, room left for crops."""

    mean: NDArray[np.float32]
    brightest: int
    padding: int = 0
    mean_first: bool = True


class ResidentBatches:
    """A split that lies on the device whole, and hands out batches of it."""

    def __init__(self, split: Split, preparation: Preparation, *, device: torch.device | str) -> None:
        self.size = split.images.shape[-1]
        self.brightest, self.padding = preparation.brightest, preparation.padding
        edges = [self.padding] * 4
        self.images = F.pad(torch.from_numpy(split.images).to(device), edges)
        self.mean = torch.from_numpy(preparation.mean).to(device)
        self.padded_mean = F.pad(self.mean, edges) if preparation.mean_first else None
        self.labels = torch.from_numpy(split.labels.astype(np.int64)).to(device)

    def __len__(self) -> int:
        return len(self.labels)

    def augmented(self, draw: Draw) -> tuple[Tensor, Tensor]:
        """Return the images and labels of a drawn batch."""
        device = self.images.device
        indices, tops, lefts, flips = (
            torch.from_numpy(np.ascontiguousarray(array)).to(device)
            for array in (draw.indices, draw.tops, draw.lefts, draw.flips)
        )
        steps = torch.arange(self.size, device=device)
        rows = (tops[:, None] + steps)[:, None, :, None]
        columns = torch.where(flips[:, None], self.size - 1 - steps, steps) + lefts[:, None]
        columns = columns[:, None, None, :]
        channels = torch.arange(self.images.shape[1], device=device)[None, :, None, None]
        pixels = self.images[indices[:, None, None, None], channels, rows, columns]
        mean = self.mean if self.padded_mean is None else self.padded_mean[channels, rows, columns]
        return pixels / self.brightest - mean, self.labels[indices]

    def plain(self, first: int, last: int) -> tuple[Tensor, Tensor]:
        """Return the images from `first` up to `last` as they are, mean subtracted."""
        inner = slice(self.padding, self.padding + self.size)
        pixels = self.images[first:last, :, inner, inner] / self.brightest
        return pixels - self.mean, self.labels[first:last]
