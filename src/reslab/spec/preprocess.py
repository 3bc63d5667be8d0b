"""What happens to an image before the network; it travels with the weights.

A network is only as good as its agreement with this: mean, scale and channel order differ between
the authors' models (BGR, 0-255, mean only) and the common ones (RGB, 0-1, mean and deviation).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from reslab.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Preprocess:
    """Resize the shorter side, crop the centre, scale the pixels, subtract the mean, divide by the deviation."""

    resize: int | None = None
    crop: int | None = None
    interpolation: Literal["bilinear", "bicubic"] = "bilinear"
    channel_order: Literal["RGB", "BGR"] = "RGB"
    pixel_range: Literal["0-1", "0-255"] = "0-1"
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        if len(self.mean) != len(self.std):
            raise UserError(f"mean has {len(self.mean)} values and std {len(self.std)}; give one of each a channel")
        if any(value <= 0 for value in self.std):
            raise UserError(f"std is {self.std}; every value must be above 0")


IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)

TORCHVISION = Preprocess(resize=256, crop=224, mean=IMAGENET_MEAN, std=IMAGENET_STD)

# torchvision feeds GoogLeNet through `transform_input`, which undoes the above in favour of this.
TORCHVISION_GOOGLENET = Preprocess(resize=256, crop=224, mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))

TORCHVISION_EFFICIENTNET = replace(TORCHVISION, interpolation="bicubic")

AKAMASTER = Preprocess(mean=IMAGENET_MEAN, std=IMAGENET_STD)

# The channel means of the authors' mean image; they endorse averaging it into three numbers.
AUTHORS = Preprocess(
    resize=256,
    crop=224,
    channel_order="BGR",
    pixel_range="0-255",
    mean=(103.0626, 115.9029, 123.1516),
    std=(1.0, 1.0, 1.0),
)
