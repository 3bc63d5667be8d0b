"""What happens to an image before the network; it travels with the weights.

A network is only as good as its agreement with this: mean, scale and channel order differ between
the authors' models (BGR, 0-255, mean only) and the common ones (RGB, 0-1, mean and deviation). The paper's CIFAR
networks subtract a mean image (section 4.2), which lies beside the weights as a tensor: `per_pixel_mean` says so.
"""

from dataclasses import dataclass, replace
from typing import Literal

from reslab.errors import UserError
from reslab.spec.codec import normalize, place


@dataclass(frozen=True, kw_only=True)
class Preprocess:
    """What happens to an image before the network: resize, crop, scale, subtract the mean, divide by the deviation.

    Fields:
        resize: Resize the shorter side to this many pixels. None does not resize.
        crop: Crop the centre to this many pixels. None does not crop.
        interpolation: How to resize.
        channel_order: Order of the colour channels.
        pixel_range: Range of the pixel values before the mean is subtracted.
        per_pixel_mean: Subtract the mean image stored with the weights. `mean` is then zero.
        mean: Subtracted from each channel.
        std: Divides each channel.
    """

    resize: int | None = None
    crop: int | None = None
    interpolation: Literal["bilinear", "bicubic"] = "bilinear"
    channel_order: Literal["RGB", "BGR"] = "RGB"
    pixel_range: Literal["0-1", "0-255"] = "0-1"
    per_pixel_mean: bool = False
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        normalize(self)
        where = place()
        if len(self.mean) != len(self.std):
            raise UserError(
                f"{where}mean has {len(self.mean)} values, but {where}std has {len(self.std)}; "
                "give one of each per channel"
            )
        if any(value <= 0 for value in self.std):
            raise UserError(f"{where}std is {self.std}; every value must be above 0")
        if self.per_pixel_mean and any(self.mean):
            raise UserError(
                f"{where}mean is {self.mean}, but a per-pixel mean is set; keep one, or set {where}per_pixel_mean=false"
            )
        for name in ("resize", "crop"):
            size = getattr(self, name)
            if size is not None and size < 1:
                raise UserError(f"{where}{name} is {size}; give a number of pixels above 0, or none")

    def describe(self) -> str:
        """Say it in words: ``pixels 0-1, resize 256, crop 224, mean 0.485 0.456 0.406, std 0.229 0.224 0.225``."""
        words = [f"{'BGR ' if self.channel_order == 'BGR' else ''}pixels {self.pixel_range}"]
        words += [f"{name} {size}" for name in ("resize", "crop") if (size := getattr(self, name)) is not None]
        words += ["bicubic"] if self.interpolation == "bicubic" and self.resize is not None else []
        words += ["per-pixel mean"] if self.per_pixel_mean else []
        words += [f"mean {' '.join(f'{value:g}' for value in self.mean)}"] if any(self.mean) else []
        words += [f"std {' '.join(f'{value:g}' for value in self.std)}"] if set(self.std) != {1.0} else []
        return ", ".join(words)


# Images from 0 to 1 less the mean image of the training images: what our runs do.
PER_PIXEL_MEAN = Preprocess(per_pixel_mean=True)

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)

TORCHVISION = Preprocess(resize=256, crop=224, mean=IMAGENET_MEAN, std=IMAGENET_STD)

# torchvision feeds GoogLeNet through `transform_input`, which undoes the above in favour of this.
TORCHVISION_GOOGLENET = Preprocess(resize=256, crop=224, mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))

TORCHVISION_EFFICIENTNET = replace(TORCHVISION, interpolation="bicubic")

AKAMASTER = Preprocess(mean=IMAGENET_MEAN, std=IMAGENET_STD)

# The channel means of the authors' mean image; they endorse averaging it into three numbers.
AUTHORS = replace(
    TORCHVISION, channel_order="BGR", pixel_range="0-255", mean=(103.0626, 115.9029, 123.1516), std=(1.0, 1.0, 1.0)
)
