"""Photographs to train on: batches decoded and cropped, by worker processes where there are any.

Pixels stay bytes on their way: scale, mean and colour follow on the device. What a worker
gives depends on the seed, the epoch and the image alone. The names of the files lie in shared memory: there may be
millions, and every worker would copy them.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor
from torch.utils.data import Dataset

from reslab.data.geometry import Geometry, Pixels, choose_box
from reslab.data.photos.folder import PhotoSplit
from reslab.data.photos.order import Key
from reslab.data.photos.pixels import read_crop
from reslab.data.reading import BadImage
from reslab.data.targets import RowTargets, move_target
from reslab.runtime.randomness import Stream, numbers_for, torch_seeded
from reslab.spec.augmentation import AugmentationSpec
from reslab.spec.task_spec import Target

Wanted = tuple[
    int, list[Key]
]  # what says the shape of a batch's images, as the side of crops does, and which these are


@dataclass(frozen=True)
class Decoded:
    """A batch as bytes (count, height, width, RGB), its targets, its shifts of colour; bad images.

    It is empty where there is nothing to be had for a bad image.
    """

    pixels: Tensor
    targets: Tensor
    shifts: Tensor
    bad: tuple[BadImage, ...] = ()


class _Names:
    """Names as one text in shared memory."""

    def __init__(self, names: Iterable[str]) -> None:
        encoded = [os.fsencode(name) for name in names]
        self.text = torch.frombuffer(bytearray(b"".join(encoded)), dtype=torch.uint8).share_memory_()
        self.ends = torch.tensor([len(name) for name in encoded]).cumsum(0).share_memory_()

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, index: int) -> str:
        first = int(self.ends[index - 1]) if index else 0
        return os.fsdecode(self.text[first : int(self.ends[index])].numpy().tobytes())


def _share(split: PhotoSplit) -> PhotoSplit:
    """Return a split whose names and arrays lie in shared memory, tensors instead of numpy's."""
    arrays = {name: value for name, value in vars(split).items() if isinstance(value, np.ndarray)}
    tensors = {name: torch.from_numpy(array.copy()).share_memory_() for name, array in arrays.items()}
    rows = {name: value.share() for name, value in vars(split).items() if isinstance(value, RowTargets)}
    return replace(split, files=_Names(split.files), **tensors, **rows)


class TrainingCrops(Dataset[Decoded]):
    """Decodes, crops and flips a batch by its keys; with `skip`, the next image stands in for one that is bad."""

    def __init__(
        self,
        split: PhotoSplit,
        augmentation: AugmentationSpec,
        *,
        seed: int,
        skip: bool = False,
        target: Target = "class",
    ) -> None:
        self.split, self.augmentation = _share(split), augmentation
        self.seed, self.skip = seed, skip
        self.target: Target = target

    def __getitem__(self, wanted: Wanted) -> Decoded:
        side, keys = wanted
        bad: list[BadImage] = []
        crops, targets, shifts = [], [], []
        for epoch, image in keys:
            for index in self._list_instead(image) if self.skip else (image,):
                try:
                    crop, geometry = self._crop(epoch, index, side)
                    break
                except BadImage as error:
                    bad.append(error)
            else:
                return Decoded(torch.empty(0), torch.empty(0), torch.empty(0), tuple(bad))
            crops.append(crop)
            targets.append(move_target(self.target, np.asarray(self.split.targets[index]), geometry))
            shifts.append(self._shift(epoch, index))
        pixels, known, colours = (torch.from_numpy(np.stack(part)) for part in (crops, targets, shifts))
        return Decoded(pixels, known, colours, tuple(bad))

    def _list_instead(self, image: int) -> Iterable[int]:
        """Return an image and all that may stand in for it, the next first."""
        return ((image + tried) % len(self.split) for tried in range(len(self.split)))

    def _crop(self, epoch: int, image: int, side: int) -> tuple[Pixels, Geometry]:
        random = numbers_for(Stream.CROP, seed=self.seed, epoch=epoch, item=image)
        flip = random.random() < 0.5 and self.augmentation.flip

        def choose(width: int, height: int) -> Geometry:
            box = choose_box(random, self.augmentation, size=(width, height), side=side)
            return Geometry(box, side, flip)

        crop, geometry = read_crop(self.split.path(image), choose)
        if self.augmentation.policy != "none":
            crop = self._follow_policy(crop, random)
        return geometry.flip_image(crop), geometry

    def _shift(self, epoch: int, image: int) -> NDArray[np.float32]:
        """Return how far the colours go along each principal component, in eigenvalues."""
        if not self.augmentation.colour:
            return np.zeros(3, np.float32)
        random = numbers_for(Stream.COLOUR, seed=self.seed, epoch=epoch, item=image)
        return random.normal(0, self.augmentation.colour, 3).astype(np.float32)

    def _follow_policy(self, crop: Pixels, random: np.random.Generator) -> Pixels:
        from torchvision.transforms import v2

        policy = v2.TrivialAugmentWide() if self.augmentation.policy == "trivial" else v2.RandAugment()
        with torch_seeded(int(random.integers(2**62))):
            return np.asarray(policy(Image.fromarray(crop)))
