"""Images decoded whole, resized and padded to the shape of their batch: by keys to train on, and in order to test on.

Pixels stay bytes on their way, as those of crops do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reslab.data.geometry import Geometry, Pixels
from reslab.data.objects.dataset import ObjectsSplit
from reslab.data.objects.fitting import Fitting, Shape, Size
from reslab.data.photos.crops import TrainingCrops
from reslab.data.photos.members import Stored
from reslab.data.photos.pixels import read_crop
from reslab.data.reading import BadImage
from reslab.runtime.randomness import Stream, numbers_for
from reslab.spec.augmentation import AugmentationSpec
from reslab.spec.boxes import HEIGHT, WIDTH


class WholeImages(TrainingCrops):
    """Decodes, resizes, flips and pads a batch by its keys; for a bad image stands in the next of its shape.

    Each image has a scale of its own, where there are several.
    """

    def __init__(
        self, split: ObjectsSplit, augmentation: AugmentationSpec, *, seed: int, skip: bool, fitting: Fitting
    ) -> None:
        super().__init__(split, augmentation, seed=seed, skip=skip, target="boxes")
        self.fitting = fitting
        self.sizes = torch.from_numpy(split.sizes).share_memory_()
        self.shapes = torch.from_numpy(fitting.choose_shapes(split.sizes)).share_memory_()

    def _list_instead(self, image: int) -> Iterable[int]:
        alike = (self.shapes == self.shapes[image]).nonzero().flatten().tolist()
        place = alike.index(image)
        return alike[place:] + alike[:place]

    def _crop(self, epoch: int, image: int, side: int) -> tuple[Pixels, Geometry]:
        random = numbers_for(Stream.CROP, seed=self.seed, epoch=epoch, item=image)
        flip = random.random() < 0.5 and self.augmentation.flip
        width, height = self.sizes[image].tolist()
        # Shown smaller it keeps its shape, so that iterations have no more shapes than without.
        fitting, scales = self.fitting, self.augmentation.scales
        if scales:
            fitting = fitting.shrink(scales[random.integers(len(scales))])
        shape = self.fitting.shapes[side]
        return read_whole(self.split.path(image), fitting, size=(width, height), shape=shape, flip=flip)


@dataclass(frozen=True)
class TestImages:
    """The images of a split in an order that puts those of one shape side by side."""

    split: ObjectsSplit
    fitting: Fitting
    order: NDArray[np.int64]
    shapes: NDArray[np.int64]  # their numbers, in this order

    def __len__(self) -> int:
        return len(self.order)

    def read(self, index: int) -> Tensor:
        """Return an image's bytes (channels, height, width), resized and padded, or raise a `BadImage`."""
        image = int(self.order[index])
        width, height = self.split.targets.of(image)[0, [WIDTH, HEIGHT]].astype(int).tolist()
        shape = self.fitting.shapes[self.shapes[index]]
        pixels, _ = read_whole(self.split.path(image), self.fitting, size=(width, height), shape=shape)
        return torch.from_numpy(pixels).permute(2, 0, 1)

    def take(self, indices: NDArray[np.int64]) -> Self:
        """Return the images at `indices` of this order."""
        return replace(self, order=self.order[indices], shapes=self.shapes[indices])


def arrange_tests(split: ObjectsSplit, fitting: Fitting) -> TestImages:
    """Return the images of a split by their shapes, and within a shape in their order."""
    shapes = fitting.choose_shapes(split.sizes)
    order = np.argsort(shapes, kind="stable")
    return TestImages(split, fitting, order, shapes[order])


def read_whole(
    path: Stored, fitting: Fitting, *, size: Size, shape: Shape, flip: bool = False
) -> tuple[Pixels, Geometry]:
    """Decode an image of a known size, resized, flipped, and padded with zeros to a shape."""

    def place(width: int, height: int) -> Geometry:
        if (width, height) != size:
            changed = f"is {width}x{height}, but was {size[0]}x{size[1]} when its objects were read"
            raise BadImage(f"{path} {changed}; start again", image=str(path))
        return fitting.place(width, height, flip=flip)

    pixels, geometry = read_crop(path, place)
    padded = np.zeros((*shape, pixels.shape[2]), np.uint8)
    padded[: pixels.shape[0], : pixels.shape[1]] = geometry.flip_image(pixels)
    return padded, geometry
