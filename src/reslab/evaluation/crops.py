"""What a test shows a network of an image (paper, sections 3.4 and 4.1).

1-crop: the centre. 10-crop: four corners and the centre of the image and of its mirror image. Multi-scale: all of the
image and of its mirror image, at five sizes. The paper's sizes go with crops of 224; others scale with the crop.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from reslab.data.photos.sampling import REFERENCE_SIDE
from reslab.data.preprocessing import centre_pixels, preprocess_images, scale_images
from reslab.spec import Preprocess

ProtocolName: TypeAlias = Literal["1-crop", "10-crop", "multi-scale"]
SHORTER_SIDES: dict[ProtocolName, tuple[int, ...]] = {"10-crop": (256,), "multi-scale": (224, 256, 384, 480, 640)}


@dataclass(frozen=True, kw_only=True)
class Viewing:
    """How images become what a network is shown. `side` is that of the crops it was made for."""

    protocol: ProtocolName
    preprocess: Preprocess
    side: int
    brightest: int
    mean_image: Tensor | None = None

    @property
    def shorter_sides(self) -> tuple[int | None, ...]:
        """What images are resized to, one after the other; None leaves them as they are."""
        if self.protocol == "1-crop":
            return (self.preprocess.resize,)
        return tuple(round(side * self.side / REFERENCE_SIDE) for side in SHORTER_SIDES[self.protocol])

    @property
    def pixels(self) -> int:
        """About how many pixels of an image a network is shown at once."""
        views = {"1-crop": 1, "10-crop": 10, "multi-scale": 2}[self.protocol]
        return views * (max(filter(None, self.shorter_sides)) if self.protocol == "multi-scale" else self.side) ** 2

    def show(self, images: Tensor) -> list[Tensor]:
        """Return what there is to see of images of one size: for each size shown, (images, views, channels, ...)."""
        if self.protocol == "1-crop":
            shown = preprocess_images(images, self.preprocess, brightest=self.brightest, mean_image=self.mean_image)
            return [shown[:, None]]
        return [self._show_at(images, shorter) for shorter in self.shorter_sides]

    def _show_at(self, images: Tensor, shorter: int | None) -> Tensor:
        pixels = scale_images(images, replace(self.preprocess, resize=shorter), brightest=self.brightest)
        both = torch.stack([pixels, pixels.flip(-1)], 1)
        views = five_crops(both, self.side).flatten(1, 2) if self.protocol == "10-crop" else both
        return centre_pixels(views, self.preprocess, mean_image=self.mean_image)


def five_crops(pixels: Tensor, side: int) -> Tensor:
    """Return the corners and the centre of images (..., channels, height, width), on a new axis before the channels."""
    down, right = (length - side for length in pixels.shape[-2:])
    places = [(0, 0), (0, right), (down, 0), (down, right), (round(down / 2), round(right / 2))]
    return torch.stack([pixels[..., top : top + side, left : left + side] for top, left in places], -4)
