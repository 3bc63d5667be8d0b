"""What is odd about one image file, told by its content: each oddity has a name, and a word about this file.

Oddities are judged in `findings`. A file is read once, and decoded in full: only so is damage seen.
"""

import hashlib
import io
import struct
from dataclasses import dataclass

import numpy as np
from PIL import Image

from reslab.data.photos.findings import LEAST_SIDE
from reslab.data.photos.members import Stored
from reslab.data.photos.pixels import ORIENTATION, BadImage, decode_pixels

FORMATS = {
    "JPEG": (".jpg", ".jpeg"),
    "MPO": (".jpg", ".jpeg"),  # a JPEG with more pictures after it, as cameras write
    "PNG": (".png",),
    "BMP": (".bmp",),
    "GIF": (".gif",),
    "PPM": (".ppm", ".pgm"),
    "TIFF": (".tif", ".tiff"),
    "WEBP": (".webp",),
}
TURNS = range(2, 9)
FIELD_BYTES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8}


@dataclass(frozen=True)
class Look:
    """What one file showed; two files with equal digests have equal pixels."""

    oddities: tuple[tuple[str, str], ...]
    digest: bytes | None = None


def look_at(path: Stored) -> Look:
    """Read and decode a file, and name what is odd about it. Pillow may warn about what is told here anyway."""
    try:
        data = path.read_bytes()
        pixels = decode_pixels(data, name=str(path))
    except OSError as error:
        return Look((("unreadable", error.strerror or str(error)),))
    except BadImage as error:
        return Look((("unreadable", str(error).removeprefix(f"{path} is ").rpartition("; ")[0]),))
    digest = hashlib.blake2b(pixels.data, digest_size=16, person=struct.pack("<II", *pixels.shape[:2]))
    with Image.open(io.BytesIO(data)) as image:
        return Look(tuple(_name_oddities(image, path.suffix.lower())), digest.digest())


def _name_oddities(image: Image.Image, suffix: str) -> list[tuple[str, str]]:
    oddities = [
        ("misnamed", f"is {image.format}", suffix not in FORMATS.get(image.format or "", ())),
        ("tiny", "{}x{}".format(*image.size), min(image.size) < LEAST_SIDE),
        ("CMYK", "", image.mode == "CMYK"),
        ("grey", "", image.mode in ("1", "L", "LA", "La") or image.mode.startswith("I")),
        ("16 bits", "", _has_wide_pixels(image)),
    ]
    orientation, broken = _read_exif(image)  # after which it may be decoded
    oddities += [
        ("broken EXIF", "", broken),
        ("rotated by EXIF", f"orientation {orientation}", orientation in TURNS),
        ("transparent", "", _is_see_through(image)),  # while the first frame is the one that is open
        ("animated", "", image.format != "MPO" and _has_more_frames(image)),
    ]
    return [(kind, detail) for kind, detail, is_there in oddities if is_there]


def _has_wide_pixels(image: Image.Image) -> bool:
    """Whether samples have more than eight bits; Pillow halves those of colours while it decodes, without a word."""
    raw = [str(tile[3]) for tile in getattr(image, "tile", [])]
    return image.mode.startswith("I") or any(";16" in mode and "BGR" not in mode for mode in raw)  # BGR;16 is 5-6-5


def _read_exif(image: Image.Image) -> tuple[int | None, bool]:
    """Return the orientation that decoding applies, and whether EXIF is broken."""
    try:
        orientation = image.getexif().get(ORIENTATION)
    except Exception:  # a decoder's, whatever it is
        return None, True
    exif = image.info.get("exif")
    return orientation, isinstance(exif, bytes) and not _is_whole(exif.removeprefix(b"Exif\0\0"))


def _is_whole(tiff: bytes) -> bool:
    """Whether EXIF's first directory, where the orientation stands, is there with all its values."""
    order = {b"II": "<", b"MM": ">"}.get(tiff[:2])
    if order is None:
        return False
    try:
        (start,) = struct.unpack_from(f"{order}L", tiff, 4)
        (count,) = struct.unpack_from(f"{order}H", tiff, start)
        for entry in range(start + 2, start + 2 + 12 * count, 12):
            _, kind, number, offset = struct.unpack_from(f"{order}HHLL", tiff, entry)
            size = FIELD_BYTES.get(kind, 0) * number
            if size > struct.calcsize("<L") and offset + size > len(tiff):
                return False
    except struct.error:
        return False
    return True


def _has_more_frames(image: Image.Image) -> bool:
    try:
        return getattr(image, "is_animated", False)
    except Exception:  # a decoder's, whatever it is; the first frame, which is used, is whole
        return True


def _is_see_through(image: Image.Image) -> bool:
    """Whether a pixel is not opaque; an alpha channel alone does no harm."""
    if not image.has_transparency_data:
        return False
    return bool(np.asarray(image.convert("RGBA"))[..., 3].min() < 255)
