"""What a test shows a network of an image: the protocols (paper, sections 3.4 and 4.1).

1-crop: the centre. 10-crop: four corners and the centre of the image and of its mirror image. Multi-scale: all of the
image and of its mirror image, at five sizes. The paper's sizes go with crops of 224; others scale with the crop.
A new protocol is an entry of `PROTOCOLS`.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from reslab.data.geometry import REFERENCE_SIDE
from reslab.data.preprocessing import centre_pixels, preprocess_images, resized_size, scale_images
from reslab.spec import Preprocess


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """`cut` makes views of images (images, channels, height, width), resized to each of `shorter_sides`.

    Without sides images are prepared as the weights say, and shown once. `dense` shows all of an image and scores every
    window of the last map; else views are squares, whose side `cut` is given.
    """

    views: int = 1
    shorter_sides: tuple[int, ...] = ()
    cut: Callable[[Tensor, int], Tensor] = lambda pixels, side: pixels[:, None]
    dense: bool = False

    @property
    def crops(self) -> float:
        """How many crops of the network's side a network is shown of an image, by their pixels."""
        shown = sum((side / REFERENCE_SIDE) ** 2 for side in self.shorter_sides) if self.dense else 1
        return self.views * shown


def five_crops(pixels: Tensor, side: int) -> Tensor:
    """Return the corners and the centre of images (..., channels, height, width), on a new axis before the channels."""
    down, right = (length - side for length in pixels.shape[-2:])
    places = [(0, 0), (0, right), (down, 0), (down, right), (round(down / 2), round(right / 2))]
    return torch.stack([pixels[..., top : top + side, left : left + side] for top, left in places], -4)


def _with_mirror(pixels: Tensor, side: int) -> Tensor:
    return torch.stack([pixels, pixels.flip(-1)], 1)


PROTOCOLS = {
    "1-crop": Protocol(),
    "10-crop": Protocol(
        views=10,
        shorter_sides=(256,),
        cut=lambda pixels, side: five_crops(_with_mirror(pixels, side), side).flatten(1, 2),
    ),
    "multi-scale": Protocol(views=2, shorter_sides=(224, 256, 384, 480, 640), cut=_with_mirror, dense=True),
}


@dataclass(frozen=True, kw_only=True)
class Viewing:
    """How images become what a network is shown. `side` is that of the crops it was made for."""

    protocol: str
    preprocess: Preprocess
    side: int
    brightest: int
    mean_image: Tensor | None = None

    @property
    def rules(self) -> Protocol:
        """The protocol."""
        return PROTOCOLS[self.protocol]

    @property
    def shorter_sides(self) -> tuple[int | None, ...]:
        """What images are resized to, one after the other; None leaves them as they are."""
        sides = self.rules.shorter_sides
        return tuple(round(side * self.side / REFERENCE_SIDE) for side in sides) or (self.preprocess.resize,)

    @property
    def pixels(self) -> int:
        """About how many pixels of an image a network is shown at once."""
        side = max(filter(None, self.shorter_sides)) if self.rules.dense else self.side
        return self.rules.views * side**2

    def describe(self) -> Preprocess:
        """Return the preprocessing as far as it is one: several sizes are beside it."""
        if not self.rules.shorter_sides:
            return self.preprocess
        if self.rules.dense:
            return replace(self.preprocess, resize=None, crop=None)
        return replace(self.preprocess, resize=self.shorter_sides[0], crop=self.side)

    def measure(self, size: Sequence[int], shorter: int | None) -> tuple[int, ...]:
        """Return the height and width of what `show` gives of an image of `size`."""
        crop = self.side if self.rules.shorter_sides else self.preprocess.crop
        return resized_size(size, shorter) if self.rules.dense or crop is None else (crop, crop)

    def show(self, images: Tensor, shorter: int | None) -> Tensor:
        """Return what there is to see of images of one size at one of the `shorter_sides`: (images, views, ...)."""
        if not self.rules.shorter_sides:
            options = {"brightest": self.brightest, "mean_image": self.mean_image}
            return preprocess_images(images, self.preprocess, **options)[:, None]
        pixels = scale_images(images, _resizing(self.preprocess, shorter), brightest=self.brightest)
        return centre_pixels(self.rules.cut(pixels, self.side), self.preprocess, mean_image=self.mean_image)


@functools.lru_cache(maxsize=64)  # it is checked whenever it is made, and every image asks for it
def _resizing(preprocess: Preprocess, shorter: int | None) -> Preprocess:
    return replace(preprocess, resize=shorter)
