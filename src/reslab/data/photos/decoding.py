"""Files become pixels by one policy, whatever they are: 8-bit RGB, upright, the first frame.

- An orientation in EXIF is applied, as every viewer does; EXIF that cannot be read counts as none.
- What a file is, its content says, not its name: ImageNet has a PNG named .JPEG.
- CMYK and palettes are converted, grey is repeated, sixteen bits keep their upper eight, transparency is dropped.
"""

from __future__ import annotations

import io
import struct
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from reslab.errors import UserError

Pixels = NDArray[np.uint8]  # height, width, RGB


class BadImage(UserError):
    """An image that cannot be used; the sentence begins with its path."""


def read_pixels(path: Path, *, shorter_side: int | None = None) -> Pixels:
    """Decode an image file; with `shorter_side`, a JPEG may come back smaller, that side being no less than this."""
    try:
        return decode_pixels(path.read_bytes(), name=str(path), shorter_side=shorter_side)
    except OSError as error:
        raise BadImage(f"{path} cannot be read: {error.strerror or error}; check the file") from error


def decode_pixels(data: bytes, *, name: str, shorter_side: int | None = None) -> Pixels:
    """Decode the content of an image file called `name` in messages."""
    try:
        with Image.open(io.BytesIO(data)) as image:
            if shorter_side is not None:
                image.draft(None, _draft_size(image.size, shorter_side))
            return np.asarray(_upright(_to_rgb(image)))
    except UnidentifiedImageError as error:
        raise BadImage(f"{name} is no image that can be read; remove it, or set data.on_bad_image=skip") from error
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise BadImage(f"{name} is damaged ({error}); replace it, or set data.on_bad_image=skip") from error


def _draft_size(size: tuple[int, int], shorter_side: int) -> tuple[int, int]:
    """Return the least size to decode at; JPEGs have halves, quarters and eighths, and none is below what is asked."""
    factor = shorter_side / min(size)
    return round(size[0] * factor), round(size[1] * factor)


def _to_rgb(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I"):
        wide = np.asarray(image).astype(np.int64)
        return Image.fromarray((wide >> 8).clip(0, 255).astype(np.uint8)).convert("RGB")
    if image.mode == "F":
        raise ValueError("its pixels are fractions")
    image.info.pop("transparency", None)  # a palette's; Pillow would warn that it is dropped
    return image.convert("RGB")


def _upright(image: Image.Image) -> Image.Image:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow's, about EXIF it cannot read
            return ImageOps.exif_transpose(image)
    except (SyntaxError, ValueError, KeyError, TypeError, OSError, struct.error):
        return image
