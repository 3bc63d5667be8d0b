"""Files become pixels by one policy, whatever they are: 8-bit RGB, upright, the first frame.

- An orientation in EXIF is applied, as every viewer does; EXIF that cannot be read counts as none.
- What a file is, its content says, not its name: ImageNet has a PNG named .JPEG.
- CMYK and palettes are converted, grey is repeated, sixteen bits keep their upper eight, transparency is dropped.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from reslab.errors import UserError

Pixels = NDArray[np.uint8]  # height, width, RGB
Box = tuple[float, float, float, float]  # left, top, right, bottom
SIDEWAYS = (5, 6, 7, 8)  # EXIF's orientations in which width and height change places
ORIENTATION = 0x0112


class BadImage(UserError):
    """An image that cannot be used; the sentence begins with its path."""


def read_pixels(path: Path) -> Pixels:
    """Decode an image file."""
    return decode_pixels(_read(path), name=str(path))


def decode_pixels(data: bytes, *, name: str) -> Pixels:
    """Decode the content of an image file called `name` in messages."""
    return np.asarray(_decode(data, lambda image: _upright(_to_rgb(image)), name=name))


def read_crop(
    path: Path,
    choose: Callable[[int, int], Box],
    *,
    side: int,
    alter: Callable[[Image.Image], Image.Image] = lambda crop: crop,
) -> Pixels:
    """Decode the part of an image file that `choose` names, given width and height, resized to a square of `side`.

    A JPEG is decoded at a half, a quarter or an eighth of its size where that leaves enough pixels. `alter` changes
    the crop further.
    """

    def crop(image: Image.Image) -> Image.Image:
        width, height = image.size[::-1] if _orientation(image) in SIDEWAYS else image.size
        box = choose(width, height)
        enough = side / min(box[2] - box[0], box[3] - box[1])
        image.draft(None, (round(image.width * enough), round(image.height * enough)))
        image = _upright(_to_rgb(image))
        across, down = image.width / width, image.height / height
        scaled = (box[0] * across, box[1] * down, box[2] * across, box[3] * down)
        return alter(image.resize((side, side), Image.Resampling.BILINEAR, box=scaled))

    return np.asarray(_decode(_read(path), crop, name=str(path)))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadImage(f"{path} cannot be read: {error.strerror or error}; check the file") from error


def _decode(data: bytes, use: Callable[[Image.Image], Image.Image], *, name: str) -> Image.Image:
    """Open the content of an image file and return what `use` makes of it."""
    try:
        with Image.open(io.BytesIO(data)) as image:
            return use(image)
    except UnidentifiedImageError as error:
        raise BadImage(f"{name} is no image that can be read; remove it, or set data.on_bad_image=skip") from error
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise BadImage(f"{name} is damaged ({error}); replace it, or set data.on_bad_image=skip") from error


def _to_rgb(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I"):
        wide = np.asarray(image).astype(np.int64)
        return Image.fromarray((wide >> 8).clip(0, 255).astype(np.uint8)).convert("RGB")
    if image.mode == "F":
        raise ValueError("its pixels are fractions")
    return image.convert("RGB")


def _orientation(image: Image.Image) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's, about EXIF it cannot read
        try:
            return int(image.getexif().get(ORIENTATION, 1))
        except (SyntaxError, ValueError, KeyError, TypeError, OSError):
            return 1


def _upright(image: Image.Image) -> Image.Image:
    if _orientation(image) == 1:
        return image
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ImageOps.exif_transpose(image)
        except (SyntaxError, ValueError, KeyError, TypeError, OSError):
            return image
