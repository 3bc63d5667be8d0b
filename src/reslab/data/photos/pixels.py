"""Files, and what Pillow has opened, become pixels by one policy, whatever they are: 8-bit RGB, upright, one frame.

- An orientation in EXIF is applied, as every viewer does; EXIF that cannot be read counts as none.
- What a file is, its content says, not its name: ImageNet has a PNG named .JPEG.
- CMYK and palettes are converted, grey is repeated, sixteen bits keep their upper eight, transparency is dropped.
- Fractions, integers of 32 bits and signed ones are refused: no file of them says which value is white.
"""

import contextlib
import io
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError
from PIL.TiffImagePlugin import TiffImageFile

from reslab.data.geometry import Geometry, Pixels, cut
from reslab.data.photos.members import Stored
from reslab.data.reading import BadImage

try:
    import simplejpeg
except ImportError:  # it is the faster one, not the only one
    simplejpeg = None

SIDEWAYS = (5, 6, 7, 8)  # EXIF's orientations in which width and height change places
ORIENTATION, BITS_PER_SAMPLE = 0x0112, 0x0102
OR_SKIP = ", or set data.on_bad_image=skip"
# Nobody need hear of EXIF that cannot be read; one filter for all serves threads too.
warnings.filterwarnings("ignore", "Corrupt EXIF data", UserWarning)


def drop_advice(sentence: str) -> str:
    """Return what is said of a bad image without the advice to skip it, where that is being done."""
    return sentence.removesuffix(OR_SKIP)


class _OtherPixels(Exception):
    """Pixels that no policy makes eight bits of."""


def read_pixels(path: Stored) -> Pixels:
    """Decode an image file."""
    return decode_pixels(_read(path), name=str(path))


def decode_pixels(data: bytes, *, name: str) -> Pixels:
    """Decode the content of an image file called `name` in messages."""
    with _decoding(name):
        return _decode_smaller(_open(data), data, by=1.0)


def take_pixels(image: Image.Image, *, name: str) -> Pixels:
    """Return what decoding its file gives of an image that Pillow has opened, which is left as it was.

    One that Pillow made, of a file's or not, is turned by the EXIF it still carries.
    """
    with _decoding(name):
        return np.asarray(_to_rgb(image))


def read_crop(path: Stored, choose: Callable[[int, int], Geometry]) -> tuple[Pixels, Geometry]:
    """Decode the part of an image file that `choose` names, given width and height, resized; not flipped yet.

    A JPEG is decoded at a half, a quarter or an eighth of its size where that leaves enough pixels.
    """
    data, name = _read(path), str(path)
    with _decoding(name):
        image = _open(data)
        if image.format != "JPEG":  # others have one size to be decoded at, and TIFFs turn themselves upright
            image = _to_rgb(image)
        width, height = image.size[::-1] if _orientation(image) in SIDEWAYS else image.size
    geometry = choose(width, height)
    left, top, right, bottom = geometry.box
    with _decoding(name):
        across, down = geometry.size
        pixels = _decode_smaller(image, data, by=max(across / (right - left), down / (bottom - top)))
    return cut(pixels, geometry.box, width=width, height=height, side=geometry.side), geometry


def read_size(path: Stored) -> tuple[int, int]:
    """Return the width and height that an image file has once it is decoded; of a JPEG, only its head is read."""
    try:
        file = path.open("rb") if isinstance(path, Path) else io.BytesIO(path.read_bytes())
    except OSError as error:
        raise _refuse_unread(path, error) from error
    with file, _decoding(str(path)), Image.open(file) as image:
        width, height = image.size
        return (height, width) if _orientation(image) in SIDEWAYS else (width, height)


def _decode_smaller(image: Image.Image, data: bytes, *, by: float) -> Pixels:
    """Decode an image at a half, a quarter or an eighth of its size, no smaller than `by`; else as it is."""
    part = next((part for part in (8, 4, 2) if by <= 1 / part), 1)
    if image.format == "JPEG" and simplejpeg is not None and image.mode in ("RGB", "L") and _orientation(image) == 1:
        # The same library with less around it, and the same pixels; what it does not like, Pillow decides about.
        width, height = -(-image.width // part), -(-image.height // part)
        with contextlib.suppress(ValueError):
            return simplejpeg.decode_jpeg(data, "RGB", min_width=width, min_height=height)
    if part > 1:
        # Both give sizes rounded up. simplejpeg is told the least that will do, Pillow divides by what it is told and
        # rounds down: told a size rounded up, it takes the next larger part.
        image.draft(None, (image.width // part, image.height // part))
    return np.array(_to_rgb(image))


def _read(path: Stored) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _refuse_unread(path, error) from error


def _refuse_unread(path: Stored, error: OSError) -> BadImage:
    return BadImage(f"{path} cannot be read: {error.strerror or error}; check the file", image=str(path))


def _open(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data))


@contextlib.contextmanager
def _decoding(name: str) -> Iterator[None]:
    """Blame the file for whatever its decoder raises: decoders meet bytes that nobody foresaw."""
    try:
        yield
    except UnidentifiedImageError as error:
        raise BadImage(f"{name} is not an image that can be read; remove it{OR_SKIP}", image=name) from error
    except _OtherPixels as error:
        raise BadImage(f"{name} is not an 8-bit or 16-bit image: {error}; convert it{OR_SKIP}", image=name) from error
    except Image.DecompressionBombError as error:
        most = 2 * (Image.MAX_IMAGE_PIXELS or 0)
        trouble = f"is too large: the limit is {most:,} pixels; shrink it{OR_SKIP}"
        raise BadImage(f"{name} {trouble}", image=name) from error
    except MemoryError as error:
        raise BadImage(f"{name} is too large for the available memory; shrink it{OR_SKIP}", image=name) from error
    except Exception as error:
        trouble = str(error) or type(error).__name__
        raise BadImage(f"{name} is damaged ({trouble}); replace it{OR_SKIP}", image=name) from error


def _to_rgb(image: Image.Image) -> Image.Image:
    """Return an image upright, in 8-bit RGB."""
    bits = _count_bits(image)  # before it is turned, which forgets what file it was
    image = _upright(image)
    if bits > 8:
        wide = np.asarray(image).astype(np.int64)
        return Image.fromarray((wide >> (bits - 8)).clip(0, 255).astype(np.uint8)).convert("RGB")
    if "transparency" in image.info:  # a palette's; Pillow would warn that it is dropped
        image = image.copy()
        del image.info["transparency"]
    return image.convert("RGB")


def _count_bits(image: Image.Image) -> int:
    """Return the bits of a grey value; of colours Pillow keeps the upper eight itself."""
    if image.mode == "F":
        raise _OtherPixels("its pixels are floating-point numbers")
    if image.mode == "I" and image.format not in ("PNG", "PPM"):  # theirs are of sixteen bits
        raise _OtherPixels("its pixels are 32-bit or signed integers, and the file does not say which value is white")
    if not image.mode.startswith("I"):
        return 8
    return image.tag_v2.get(BITS_PER_SAMPLE, (16,))[0] if isinstance(image, TiffImageFile) else 16


def _orientation(image: Image.Image) -> int:
    """Return EXIF's orientation, 1 being upright."""
    try:
        return int(image.getexif().get(ORIENTATION, 1))
    except Exception:  # a decoder's, whatever it is
        return 1


def _upright(image: Image.Image) -> Image.Image:
    if _orientation(image) == 1:
        return image
    try:
        return ImageOps.exif_transpose(image)
    except Exception:  # a decoder's, whatever it is
        return image
