"""Where a crop lies in an image and how it is turned: a value that moves the image and its target alike.

It is drawn from random numbers of the image's own, (seed, epoch, image), so whoever draws it gets the same.
"""

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from reslab.spec.augmentation import AugmentationSpec

Pixels: TypeAlias = NDArray[np.uint8]  # height, width, RGB
Box: TypeAlias = tuple[float, float, float, float]  # left, top, right, bottom
Floats: TypeAlias = NDArray[np.floating]
TRIES = 10  # for a part of the image that fits, as torchvision's
ASPECTS = (3 / 4, 4 / 3)
REFERENCE_SIDE = 224  # what the paper's sides belong to
TEST_SIDE = 256  # the shorter side of what is tested, for crops of that


def find_test_side(crop: int) -> int:
    """Return to which shorter side photographs are resized before a central crop of a test."""
    return round(TEST_SIDE * crop / REFERENCE_SIDE)


@dataclass(frozen=True)
class Geometry:
    """The part of an image inside `box`, in its pixels, resized, and mirrored where `flip`.

    `side` is that of a square; or it is a width and a height.
    """

    box: Box
    side: int | tuple[int, int]
    flip: bool = False

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the crop."""
        return (self.side, self.side) if isinstance(self.side, int) else self.side

    def flip_image(self, pixels: Pixels) -> Pixels:
        """Mirror what was cropped and resized already, if that is to be."""
        return pixels[:, ::-1] if self.flip else pixels

    def move_points(self, points: Floats) -> Floats:
        """Return where points (x, y on the last axis) of the image lie in the crop, outside of it too."""
        left, top, right, bottom = self.box
        moved = (points - np.array([left, top])) * np.array(self.size) / np.array([right - left, bottom - top])
        if self.flip:
            moved[..., 0] = self.size[0] - moved[..., 0]
        return moved

    def move_boxes(self, boxes: Floats) -> Floats:
        """Return boxes (count, 4) as the crop shows them, cut off at its edges; what is outside has no area."""
        corners = self.move_points(boxes.reshape(-1, 2, 2)).clip(0, np.array(self.size))
        return np.concatenate([corners.min(1), corners.max(1)], axis=1)

    def move_mask(self, mask: NDArray[np.integer]) -> NDArray[np.integer]:
        """Return a mask (height, width) as the crop shows it, every pixel that of the nearest."""
        left, top, right, bottom = self.box
        across, down = ((np.arange(side) + 0.5) / side for side in self.size)
        columns = np.floor(left + across * (right - left)).astype(np.int64).clip(0, mask.shape[1] - 1)
        rows = np.floor(top + down * (bottom - top)).astype(np.int64).clip(0, mask.shape[0] - 1)
        return mask[rows[:, None], columns[::-1] if self.flip else columns]


def cut(pixels: Pixels, box: Box, *, width: int, height: int, side: int | tuple[int, int]) -> Pixels:
    """Return the part of a decoded image in `box`, resized; the box is in the pixels of `width` times `height`."""
    size = (side, side) if isinstance(side, int) else side[::-1]
    down, across = pixels.shape[0] / height, pixels.shape[1] / width
    left, right = (round(place * across) for place in (box[0], box[2]))
    top, bottom = (round(place * down) for place in (box[1], box[3]))
    part = torch.from_numpy(pixels)[top : max(bottom, top + 1), left : max(right, left + 1)].contiguous()
    images: Tensor = part[None].permute(0, 3, 1, 2)  # channels last to torch too, which is the fast way
    resized = F.interpolate(images, size=size, mode="bilinear", antialias=True)
    return resized[0].permute(1, 2, 0).contiguous().numpy()


def choose_box(random: np.random.Generator, augmentation: AugmentationSpec, *, size: tuple[int, int], side: int) -> Box:
    """Draw the part of an image of `size` (width, height) that becomes a training crop of `side`."""
    if augmentation.crop == "shorter-side":
        return shorter_side_box(random, *size, sides=augmentation.sides, crop=side)
    return resized_box(random, *size, areas=augmentation.areas)


def shorter_side_box(random: np.random.Generator, width: int, height: int, *, sides: tuple[int, ...], crop: int) -> Box:
    """Return the paper's crop, in the pixels of the image as it is: `crop` of a shorter side drawn from `sides`."""
    shorter = random.integers(sides[0], sides[1], endpoint=True) * crop / REFERENCE_SIDE
    side = min(width, height) * min(1.0, crop / shorter)
    left, top = random.random() * (width - side), random.random() * (height - side)
    return left, top, left + side, top + side


@dataclass(frozen=True)
class ShorterSides:
    """The same crops of square images that are all of one `size`: parts of it, as many as there are images."""

    sides: tuple[int, ...]
    size: int

    def draw(self, random: np.random.Generator, count: int) -> NDArray[np.float32]:
        """Return `count` boxes, a row each."""
        shorter = random.integers(self.sides[0], self.sides[1], count, endpoint=True)
        side = self.size * np.minimum(1, REFERENCE_SIDE / shorter)
        left, top = random.random((2, count)) * (self.size - side)
        return np.stack([left, top, left + side, top + side], axis=1, dtype=np.float32, casting="same_kind")


def resized_box(random: np.random.Generator, width: int, height: int, *, areas: tuple[float, ...]) -> Box:
    """Return the common crop: a part of the image of random area and aspect, or the largest if none fits."""
    for _ in range(TRIES):
        area = width * height * random.uniform(areas[0], areas[1])
        aspect = math.exp(random.uniform(math.log(ASPECTS[0]), math.log(ASPECTS[1])))
        across, down = math.sqrt(area * aspect), math.sqrt(area / aspect)
        if across <= width and down <= height:
            left, top = random.random() * (width - across), random.random() * (height - down)
            return left, top, left + across, top + down
    across = min(width, height * ASPECTS[1])
    down = min(height, width / ASPECTS[0])
    left, top = (width - across) / 2, (height - down) / 2
    return left, top, left + across, top + down
