"""Batches made on the device the images live on: crop, flip and mean in one gather; a hole where one is asked for.

An image of the batch is ``crop(pad(x - mean))``: the mean is subtracted first, so what the padding adds is zero; or,
with `mean_first` off, ``crop(pad(x)) - mean`` (docs/paper/deviations.md). Bytes stay bytes until they are gathered. A
hole is zeros in what the network is given, so it says nothing: zero is the mean.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from reslab.data.arrays.order import Draw
from reslab.data.arrays.split import ArraySplit
from reslab.errors import UserError
from reslab.spec.augmentation import Edges


def per_pixel_mean(split: ArraySplit, *, brightest: int) -> NDArray[np.float32]:
    """Return the mean image of a split on a scale where white is one (channels, height, width)."""
    return (split.images.mean(0, dtype=np.float64) / brightest).astype(np.float32)


def send(array: NDArray[np.generic], device: torch.device) -> Tensor:
    """Return an array as a tensor on `device`; a CUDA device is not waited for, whatever it still has to do."""
    tensor = torch.from_numpy(np.ascontiguousarray(array))
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def refuse_small_images(side: int, *, padding: int, edges: Edges, cutout: int) -> None:
    """Refuse an augmentation for which images of this side are too small."""
    if edges == "reflect" and padding >= side:
        raise UserError(
            f"recipe.augmentation.padding is {padding}, but the images are {side} pixels wide; "
            "edges=reflect needs a padding smaller than the image"
        )
    if cutout > side:
        raise UserError(
            f"recipe.augmentation.cutout is {cutout}, but the images are {side} pixels wide; choose a smaller one"
        )


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """How pixels become a network's input: divided by `brightest`, the mean image subtracted, room left for crops.

    `cutout` is the side of the hole in a drawn image.
    """

    mean: NDArray[np.float32]
    brightest: int
    padding: int = 0
    mean_first: bool = True
    edges: Edges = "zero"
    cutout: int = 0

    def __post_init__(self) -> None:
        refuse_small_images(min(self.mean.shape[1:]), padding=self.padding, edges=self.edges, cutout=self.cutout)

    def pad(self, images: Tensor) -> Tensor:
        """Return images, or the mean image, with the padding around them."""
        if self.edges == "zero":
            return F.pad(images, [self.padding] * 4)
        # By index: torch reflects floats only.
        rows, columns = (self._reflected(side, images.device) for side in images.shape[-2:])
        return images[..., rows, :][..., columns]

    def cut(self, images: Tensor, draw: Draw) -> Tensor:
        """Cut their holes into drawn images, in place, and return them."""
        if self.cutout:
            tops, lefts = (send(array, images.device) for array in (draw.hole_tops, draw.hole_lefts))
            rows, columns = self._within(tops, images.shape[-2]), self._within(lefts, images.shape[-1])
            images.masked_fill_((rows[:, :, None] & columns[:, None, :])[:, None], 0)
        return images

    def _within(self, first: Tensor, side: int) -> Tensor:
        """Return, for each image, which of its rows or columns the hole spans."""
        places = torch.arange(side, device=first.device) - first[:, None]
        return (places >= 0) & (places < self.cutout)

    def _reflected(self, side: int, device: torch.device) -> Tensor:
        """Return which row or column of the image each one of the padded image shows."""
        places = torch.arange(-self.padding, side + self.padding, device=device).abs()
        return torch.where(places < side, places, 2 * (side - 1) - places)


class ResidentBatches:
    """A split that lies on the device whole, channels innermost, and hands out batches of it in that layout."""

    is_resident = True

    def __init__(self, split: ArraySplit, preparation: Preparation, *, device: torch.device | str) -> None:
        self.size = split.images.shape[-1]
        self.preparation = preparation
        self.brightest, self.padding = preparation.brightest, preparation.padding
        self.images = _channels_innermost(preparation.pad(torch.from_numpy(split.images).to(device)))
        self.mean = torch.from_numpy(preparation.mean).to(device)
        self.padded_mean = _channels_innermost(preparation.pad(self.mean)) if preparation.mean_first else None
        self.targets = torch.from_numpy(split.targets.astype(np.int64)).to(device)

    def __len__(self) -> int:
        return len(self.targets)

    def augmented(self, draw: Draw) -> tuple[Tensor, Tensor]:
        """Return the images and targets of a drawn batch."""
        device = self.images.device
        indices, tops, lefts, flips = (
            send(array, device) for array in (draw.indices, draw.tops, draw.lefts, draw.flips)
        )
        steps = torch.arange(self.size, device=device)
        rows = (tops[:, None] + steps)[:, :, None]
        columns = (torch.where(flips[:, None], self.size - 1 - steps, steps) + lefts[:, None])[:, None, :]
        pixels = self.images[indices[:, None, None], rows, columns]
        mean = _channels_innermost(self.mean) if self.padded_mean is None else self.padded_mean[rows, columns]
        images = (pixels / self.brightest - mean).movedim(-1, 1)
        return self.preparation.cut(images, draw), self.targets[indices]

    def plain(self, first: int, last: int) -> tuple[Tensor, Tensor]:
        """Return the images from `first` up to `last` as they are, mean subtracted."""
        inner = slice(self.padding, self.padding + self.size)
        pixels = self.images[first:last, inner, inner].movedim(-1, 1) / self.brightest
        return pixels - self.mean, self.targets[first:last]


def _channels_innermost(images: Tensor) -> Tensor:
    return images.movedim(-3, -1).contiguous()
