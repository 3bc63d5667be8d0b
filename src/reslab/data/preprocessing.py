"""Images become what a network takes, as `Preprocess` says: resized, cropped, scaled, centred."""

import functools
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from reslab.errors import UserError
from reslab.spec import Preprocess

WHITE = {"0-1": 1, "0-255": 255}


def preprocess_images(
    images: Tensor, preprocess: Preprocess, *, brightest: int, mean_image: Tensor | None = None
) -> Tensor:
    """Prepare a batch of RGB or grey images (count, channels, height, width) in which white is `brightest`."""
    pixels = scale_images(images, preprocess, brightest=brightest)
    if preprocess.crop is not None:
        pixels = _crop(pixels, preprocess.crop)
    return centre_pixels(pixels, preprocess, mean_image=mean_image)


def scale_images(images: Tensor, preprocess: Preprocess, *, brightest: int) -> Tensor:
    """Return images in the range and channel order of `preprocess`, resized; not cropped or centred yet."""
    pixels = images / (brightest / WHITE[preprocess.pixel_range])
    if preprocess.channel_order == "BGR":
        pixels = pixels.flip(1)
    if preprocess.resize is not None:
        pixels = _resize(pixels, preprocess.resize, preprocess.interpolation)
        if preprocess.interpolation == "bicubic":  # it overshoots at edges; bytes, as others resize them, cannot
            pixels = pixels.clamp_(0, WHITE[preprocess.pixel_range])
    return pixels


def centre_pixels(
    pixels: Tensor, preprocess: Preprocess, *, mean_image: Tensor | None = None, in_place: bool = False
) -> Tensor:
    """Subtract the mean and divide by the deviation; of a mean image of another size, its channels' averages.

    A large batch is better changed `in_place`; the numbers are the same.
    """
    space = 2 if mean_image is None else mean_image.dim() - 1
    for name in ("mean", "std"):
        _refuse_other_channels(getattr(preprocess, name), name, pixels.shape[-1 - space])
    std = _per_channel(preprocess.std, pixels, space)
    mean = _fit_mean(mean_image, pixels) if preprocess.per_pixel_mean else _per_channel(preprocess.mean, pixels, space)
    if not in_place:
        return (pixels - mean) / std
    pixels.sub_(mean)
    return pixels if set(preprocess.std) == {1} else pixels.div_(std)


def _fit_mean(mean_image: Tensor | None, pixels: Tensor) -> Tensor:
    """Return the mean image, or its mean colour where that is of another size."""
    if mean_image is None:
        raise UserError("these weights have no mean image; set preprocess.mean and preprocess.per_pixel_mean=false")
    channels = len(mean_image), pixels.shape[-mean_image.dim()]
    if channels[0] != channels[1]:
        raise UserError(
            f"the mean image has {channels[0]} channels, but the images have {channels[1]}; "
            f"give images with {channels[0]}"
        )
    fits = mean_image.shape == pixels.shape[-mean_image.dim() :]
    space = tuple(range(1, mean_image.dim()))
    return (mean_image if fits else mean_image.mean(space, keepdim=True)).to(pixels)


def resized_size(size: Sequence[int], shorter: int | None) -> tuple[int, ...]:
    """Return the size of an image (height, width) whose shorter side becomes `shorter`; None leaves it as it is."""
    return tuple(int((shorter or min(size)) * side / min(size)) for side in size)


def _resize(pixels: Tensor, shorter: int, interpolation: str) -> Tensor:
    size = resized_size(pixels.shape[-2:], shorter)
    return F.interpolate(pixels, size=size, mode=interpolation, align_corners=False, antialias=True)


def _crop(pixels: Tensor, side: int) -> Tensor:
    height, width = pixels.shape[-2:]
    if min(height, width) < side:
        raise UserError(f"crop is {side}, but the images are {height}x{width}; set preprocess.resize or a smaller crop")
    top, left = round((height - side) / 2), round((width - side) / 2)
    return pixels[..., top : top + side, left : left + side]


def _refuse_other_channels(values: tuple[float, ...], name: str, channels: int) -> None:
    if len(values) not in (1, channels):
        raise UserError(
            f"{name} has {len(values)} values, but the images have {channels} channels; give one value per channel"
        )


def _per_channel(values: tuple[float, ...], pixels: Tensor, space: int) -> Tensor:
    make = _send if pixels.is_cuda else torch.tensor
    return make(values, dtype=pixels.dtype, device=pixels.device)[(..., *[None] * space)]


@functools.lru_cache(maxsize=64)  # sending them makes the host wait for the device
@torch.inference_mode(mode=False)
def _send(values: tuple[float, ...], *, dtype: torch.dtype, device: torch.device) -> Tensor:
    return torch.tensor(values, dtype=dtype, device=device)
