"""What is odd about a file is named, and nothing is said about one that is not."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from reslab.data.photos.oddities import look_at

generator = np.random.default_rng(0)
NOISE = Image.fromarray(generator.integers(0, 256, (40, 60, 3), dtype=np.uint8))
WIDE = Image.fromarray(generator.integers(0, 65_536, (40, 60), dtype=np.uint16))


def turned(orientation: int) -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = orientation
    exif[0x010F] = "a maker whose name takes more than four bytes"
    return exif


def see_through() -> Image.Image:
    image = NOISE.convert("RGBA")
    image.putalpha(100)
    return image


@pytest.mark.parametrize(
    ("name", "image", "options", "oddities"),
    [
        ("a.jpg", NOISE, {}, []),
        ("a.JPEG", NOISE, {"exif": turned(1)}, []),
        ("a.png", NOISE.convert("RGBA"), {}, []),
        ("a.tif", NOISE, {"compression": "tiff_lzw"}, []),
        ("a.gif", NOISE, {}, []),
        ("a.jpg", NOISE, {"format": "MPO", "save_all": True, "append_images": [NOISE.rotate(90)]}, []),
        ("a.JPEG", NOISE, {"format": "PNG"}, ["misnamed"]),
        ("a.jpg", NOISE.convert("CMYK"), {}, ["CMYK"]),
        ("a.jpg", NOISE.convert("L"), {}, ["grey"]),
        ("a.png", NOISE.convert("1"), {}, ["grey"]),
        ("a.png", WIDE, {}, ["grey", "16 bits"]),
        ("a.png", NOISE.resize((60, 31)), {}, ["tiny"]),
        ("a.png", see_through(), {}, ["transparent"]),
        ("a.png", NOISE.convert("P"), {"transparency": NOISE.convert("P").getpixel((0, 0))}, ["transparent"]),
        ("a.gif", NOISE, {"save_all": True, "append_images": [NOISE.rotate(90)]}, ["animated"]),
        ("a.jpg", NOISE, {"exif": turned(6)}, ["rotated by EXIF"]),
        ("a.webp", NOISE, {"exif": turned(3)}, ["rotated by EXIF"]),
        ("a.jpg", NOISE, {"exif": turned(1).tobytes()[:-20]}, ["broken EXIF"]),
        ("a.jpg", NOISE, {"exif": b"Exif\0\0II*\0"}, ["broken EXIF"]),
        ("a.png", NOISE, {"exif": b"Exif\0\0II*\0\xff\xff\xff\xff"}, ["broken EXIF"]),
        ("a.jpg", NOISE, {"exif": b"Exif\0\0nonsense"}, ["broken EXIF"]),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_oddities_are_named(name: str, image: Image.Image, options: dict, oddities: list[str], tmp_path: Path) -> None:
    """Each by itself; a digest comes with every image that decodes."""
    image.save(tmp_path / name, **options)
    look = look_at(tmp_path / name)
    assert [kind for kind, _ in look.oddities] == oddities
    assert look.digest is not None


def test_colours_of_sixteen_bits_are_seen(tmp_path: Path) -> None:
    """Although Pillow hands them out as eight; it cannot write them either."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes(40 * 6) for _ in range(40))
    header = struct.pack(">IIBBBBB", 40, 40, 16, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + body)
    assert look_at(tmp_path / "a.png").oddities == (("16 bits", ""),)


def test_the_digest_is_of_the_pixels(tmp_path: Path) -> None:
    """Not of the file's form; and a row is no column."""
    NOISE.save(tmp_path / "a.png")
    NOISE.save(tmp_path / "b.bmp")
    Image.new("RGB", (40, 60)).save(tmp_path / "c.png")
    Image.new("RGB", (60, 40)).save(tmp_path / "d.png")
    digests = [look_at(tmp_path / name).digest for name in ("a.png", "b.bmp", "c.png", "d.png")]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3


def test_what_cannot_be_decoded_says_why(tmp_path: Path) -> None:
    """Without naming the path again."""
    NOISE.save(tmp_path / "cut.jpg")
    (tmp_path / "cut.jpg").write_bytes((tmp_path / "cut.jpg").read_bytes()[:900])
    (tmp_path / "text.jpg").write_text("hello")
    assert look_at(tmp_path / "cut.jpg").oddities[0][1].startswith("damaged (")
    assert look_at(tmp_path / "text.jpg").oddities == (("unreadable", "not an image that can be read"),)
    assert look_at(tmp_path / "gone.jpg").oddities == (("unreadable", "No such file or directory"),)
    assert look_at(tmp_path / "gone.jpg").digest is None


def test_an_animation_cut_anywhere_is_told(tmp_path: Path) -> None:
    """In its first frame it is unreadable; later it is animated, whatever the decoder says of what is missing."""
    path = tmp_path / "a.gif"
    first, *others = (Image.new("RGB", (40, 40), colour) for colour in ("red", "green", "blue"))
    first.save(path, save_all=True, append_images=others)
    whole = path.read_bytes()
    told = set()
    for end in range(20, len(whole) - 2):
        path.write_bytes(whole[:end])
        told |= {kind for kind, _ in look_at(path).oddities}
    assert told == {"unreadable", "animated"}
