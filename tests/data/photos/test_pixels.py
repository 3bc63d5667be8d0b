"""Every kind of file becomes upright 8-bit RGB; what cannot is named."""

from __future__ import annotations

import io
import struct
import warnings
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps, TiffImagePlugin

from reslab.data.geometry import Box, Geometry, Pixels
from reslab.data.photos import pixels as decoding
from reslab.data.photos.pixels import decode_pixels, read_crop, read_pixels, take_pixels
from reslab.data.reading import BadImage

SQUARES = np.zeros((40, 60, 3), np.uint8)
SQUARES[:20, :30] = (200, 40, 80)


def encode(image: Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def crop_box(path: Path, box: Box, *, side: int) -> Pixels:
    return read_crop(path, lambda width, height: Geometry(box, side))[0]


def crop_whole(path: Path, *, side: int) -> Pixels:
    return read_crop(path, lambda width, height: Geometry((0, 0, width, height), side))[0]


@pytest.mark.parametrize("kind", ["PNG", "BMP", "TIFF", "WEBP"])
def test_lossless_files_come_back_as_they_were(kind: str) -> None:
    """Whatever the file is called."""
    options = {"lossless": True} if kind == "WEBP" else {}
    assert np.array_equal(decode_pixels(encode(Image.fromarray(SQUARES), kind, **options), name="x.JPEG"), SQUARES)


def test_colour_modes_become_rgb() -> None:
    """Grey is repeated, CMYK and palettes are converted, transparency is dropped."""
    image = Image.fromarray(SQUARES)
    assert np.array_equal(decode_pixels(encode(image.convert("RGBA"), "PNG"), name="x"), SQUARES)
    assert np.array_equal(
        decode_pixels(encode(image.convert("P", palette=Image.Palette.ADAPTIVE), "PNG"), name="x"), SQUARES
    )
    palette = image.convert("P", palette=Image.Palette.ADAPTIVE)
    half_seen = encode(palette, "PNG", transparency=bytes([100] * 256))
    assert np.array_equal(decode_pixels(half_seen, name="x"), SQUARES)
    grey = decode_pixels(encode(image.convert("L"), "PNG"), name="x")
    assert np.array_equal(grey, np.repeat(np.asarray(image.convert("L"))[..., None], 3, axis=2))
    cmyk = decode_pixels(encode(image.convert("CMYK"), "JPEG", quality=95), name="x")
    assert np.abs(cmyk.astype(int) - SQUARES)[:16, :24].max() < 12


def test_sixteen_bits_keep_their_upper_eight() -> None:
    """They are not cut off at 255."""
    wide = np.linspace(0, 65_535, 64 * 64).reshape(64, 64).astype(np.uint16)
    pixels = decode_pixels(encode(Image.fromarray(wide), "PNG"), name="x")
    assert np.array_equal(pixels[..., 0], (wide >> 8).astype(np.uint8))


def test_twelve_bits_keep_their_upper_eight(tmp_path: Path) -> None:
    """As cameras of microscopes write them; they are not taken for a dark sixteen, turned or not."""
    samples = np.array([[0, 4095, 2048, 255]] * 2)
    packed = b"".join(int(a << 12 | b).to_bytes(3, "big") for a, b in samples.reshape(-1, 2).tolist())
    (tmp_path / "x.tif").write_bytes(write_tiff(packed, width=4, height=2, bits=12))
    assert decode_pixels((tmp_path / "x.tif").read_bytes(), name="x")[0, :, 0].tolist() == [0, 255, 128, 15]
    turned = write_tiff(packed, width=4, height=2, bits=12, orientation=3)
    assert decode_pixels(turned, name="x")[0, :, 0].tolist() == [15, 128, 255, 0]


def write_tiff(packed: bytes, *, width: int, height: int, bits: int, orientation: int = 1) -> bytes:
    fields = {256: width, 257: height, 258: bits, 259: 1, 262: 1, 273: 8, 274: orientation, 277: 1, 278: height}
    fields[279] = len(packed)
    entries = b"".join(struct.pack("<HHLHH", tag, 3, 1, value, 0) for tag, value in sorted(fields.items()))
    directory = struct.pack("<H", len(fields)) + entries + bytes(4)
    return b"II*\0" + struct.pack("<L", 8 + len(packed)) + packed + directory


@pytest.mark.parametrize("kind", [np.int32, np.uint32, np.int16, np.float32])
def test_pixels_without_a_white_are_refused(kind: type[np.generic], tmp_path: Path) -> None:
    """Whatever their values: none of these files says which is white; turned ones too."""
    grey = np.arange(2400).reshape(40, 60).astype(np.uint8).astype(kind)
    path = tmp_path / "x.tif"
    fields = TiffImagePlugin.ImageFileDirectory_v2()
    if kind == np.uint32:
        fields[339] = 1
        grey = grey.astype(np.int32)
    Image.fromarray(grey).save(path, tiffinfo=fields)
    with pytest.raises(BadImage, match=r"x\.tif is not an 8-bit or 16-bit image: its pixels are .*; convert it, or"):
        read_pixels(path)
    with pytest.raises(BadImage, match=r"x\.tif is not an 8-bit or 16-bit image"):
        crop_whole(path, side=8)


def test_a_pgm_of_sixteen_bits_is_none_of_those() -> None:
    """Though Pillow opens it as integers."""
    data = b"P5 2 1 65535\n" + bytes([255, 255, 128, 0])
    assert decode_pixels(data, name="x")[0, :, 0].tolist() == [255, 128]


def test_animations_give_their_first_frame() -> None:
    """The others are not looked at."""
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    pixels = decode_pixels(encode(frames[0], "GIF", save_all=True, append_images=frames[1:]), name="x")
    assert pixels[0, 0].tolist() == [255, 0, 0]


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_applied(orientation: int) -> None:
    """As Pillow itself does it for viewers."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = encode(Image.fromarray(SQUARES), "PNG", exif=exif)
    pixels = decode_pixels(data, name="x")
    assert pixels.shape[:2] == ((40, 60) if orientation < 5 else (60, 40))
    corners = {1: (0, 0), 2: (0, -1), 3: (-1, -1), 4: (-1, 0), 5: (0, 0), 6: (0, -1), 7: (-1, -1), 8: (-1, 0)}
    assert pixels[corners[orientation]].tolist() == [200, 40, 80]


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "LA", "P", "CMYK", "1", "I;16"])
@pytest.mark.parametrize("orientation", [1, 2, 6])
def test_what_pillow_has_opened_is_taken_as_its_file(mode: str, orientation: int) -> None:
    """Turned and converted, loaded before or not, or a copy; and it is left as it was."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    image = Image.fromarray(SQUARES[..., 0].astype(np.uint16) << 8) if mode == "I;16" else Image.fromarray(SQUARES)
    data = encode(image.convert(mode), "JPEG" if mode == "CMYK" else "PNG", exif=exif)
    if mode == "P":
        data = encode(image.convert("P"), "PNG", exif=exif, transparency=bytes([100] * 256))
    expected = decode_pixels(data, name="x")
    loaded = Image.open(io.BytesIO(data))
    loaded.load()
    for opened in (Image.open(io.BytesIO(data)), loaded, loaded.copy()):
        assert np.array_equal(take_pixels(opened, name="x"), expected)
        assert (opened.mode, opened.size, opened.getexif()[0x0112]) == (mode, (60, 40), orientation)
        assert ("transparency" in opened.info) == (mode == "P")


def test_what_pillow_cannot_decode_or_say_is_named() -> None:
    """As of a file: cut off, or of pixels whose white nobody knows."""
    cut = Image.open(io.BytesIO(encode(Image.fromarray(SQUARES), "PNG")[:90]))
    with pytest.raises(BadImage, match=r"image 1 is damaged"):
        take_pixels(cut, name="image 1")
    for mode in ("F", "I"):
        with pytest.raises(BadImage, match=r"image 1 is not an 8-bit or 16-bit image"):
            take_pixels(Image.new(mode, (4, 4)), name="image 1")


@pytest.mark.parametrize("exif", [b"II*\x00\xff\xff\xff\xff", b"II*\x00", b"nonsense"])
def test_broken_exif_counts_as_none(exif: bytes) -> None:
    """The image itself is fine."""
    data = encode(Image.fromarray(SQUARES), "PNG", exif=b"Exif\x00\x00" + exif)
    assert np.array_equal(decode_pixels(data, name="x"), SQUARES)


@pytest.mark.parametrize("box", [(0, 0, 320, 256), (100, 60, 250, 210), (30.5, 10.25, 40.5, 20.25)])
def test_a_crop_is_that_part_of_the_picture(box: Box, tmp_path: Path) -> None:
    """Resized, as if the whole had been decoded; a large part of a JPEG is decoded smaller, which one cannot see."""
    rows, columns = np.mgrid[0:256, 0:320]
    photo = Image.fromarray(np.stack([rows, columns // 2, (rows + columns) // 3], axis=2).astype(np.uint8))
    photo.save(tmp_path / "x.jpg", quality=95)
    pixels = crop_box(tmp_path / "x.jpg", box, side=48)
    whole = Image.fromarray(read_pixels(tmp_path / "x.jpg"))
    reference = np.asarray(whole.crop(box).resize((48, 48), Image.Resampling.BILINEAR))
    assert np.abs(pixels.astype(int) - reference).max() <= 3


def photograph(random: np.random.Generator, width: int, height: int) -> Image.Image:
    """Return what looks like a photograph to a decoder: smooth, with detail at many sizes."""
    image = np.zeros((height, width, 3), np.float32)
    for grain in (3, 9, 40):
        coarse = random.integers(0, 256, (height // grain + 2, width // grain + 2, 3), np.uint8)
        image += np.asarray(Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC), np.float32) / 3
    return Image.fromarray(image.astype(np.uint8))


@pytest.mark.parametrize("side", [16, 31, 64, 112, 224])
@pytest.mark.parametrize("kind", ["4:4:4", "4:2:0", "progressive", "grey"])
def test_both_decoders_give_the_same_pixels(
    kind: str, side: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the bit, at every part of a size and whatever that leaves over: the faster one is not another policy."""
    random = np.random.default_rng(side)
    options = {"subsampling": kind} if ":" in kind else {"progressive": kind == "progressive"}
    boxes: list[tuple[Path, Box]] = []
    for number, longer in enumerate(random.integers(side, 12 * side, 8).clip(max=900).tolist()):
        width, height = longer, max(1, longer - number * longer // 20)
        photo = photograph(random, width, height).convert("L" if kind == "grey" else "RGB")
        photo.save(tmp_path / f"{number}.jpg", quality=80, **options)
        boxes.append((tmp_path / f"{number}.jpg", (0, 0, width, height)))
        for across, down in random.uniform(0.4, 1, (2, 2)).tolist():
            boxes.append((tmp_path / f"{number}.jpg", (0, 0, across * width, down * height)))
    fast = [crop_box(path, box, side=side) for path, box in boxes]
    monkeypatch.setattr(decoding, "simplejpeg", None)
    slow = [crop_box(path, box, side=side) for path, box in boxes]
    assert [np.array_equal(*pair) for pair in zip(fast, slow, strict=True)] == [True] * len(boxes)


@pytest.mark.parametrize("orientation", range(2, 9))
@pytest.mark.parametrize("side", [15, 40, 77])
def test_a_turned_photograph_has_the_pixels_of_the_upright_one(side: int, orientation: int, tmp_path: Path) -> None:
    """Turned, and but for rounding where it is resized, in whose order it is turned too: Pillow alone turns."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    photo = photograph(np.random.default_rng(0), 333, 251)
    photo.save(tmp_path / "upright.jpg", quality=90)
    photo.save(tmp_path / "turned.jpg", quality=90, exif=exif)
    upright, turned = (crop_whole(tmp_path / f"{name}.jpg", side=side) for name in ("upright", "turned"))
    expected = Image.fromarray(upright)
    expected.getexif()[0x0112] = orientation
    expected = np.asarray(ImageOps.exif_transpose(expected))
    assert np.abs(turned.astype(int) - expected).max() <= 1


def test_cmyk_is_decoded_as_small_as_rgb(tmp_path: Path) -> None:
    """Inks that are what a colour lacks of white give that colour, but for JPEG's own rounding."""
    photo = photograph(np.random.default_rng(0), 501, 377)
    black = Image.new("L", photo.size, 0)
    inks = [channel.point(lambda value: 255 - value) for channel in photo.split()]
    photo.save(tmp_path / "rgb.jpg", quality=100, subsampling="4:4:4")
    Image.merge("CMYK", [*inks, black]).save(tmp_path / "cmyk.jpg", quality=100, subsampling="4:4:4")
    for side in (40, 90, 180):
        rgb, cmyk = (crop_whole(tmp_path / f"{name}.jpg", side=side) for name in ("rgb", "cmyk"))
        assert np.abs(rgb.astype(int) - cmyk).max() <= 2


@pytest.mark.parametrize("name", ["x.jpg", "x.png", "x.tif", "sixteen.png"])
def test_a_crop_is_chosen_in_the_upright_picture(name: str, tmp_path: Path) -> None:
    """Width and height change places with EXIF's orientation, whatever the file and its depth."""
    exif = Image.Exif()
    exif[0x0112] = 6
    sixteen = name.startswith("sixteen")
    image = SQUARES[..., 0].astype(np.uint16) << 8 if sixteen else SQUARES
    Image.fromarray(image).save(tmp_path / name, exif=exif, **({"quality": 95} if name.endswith("jpg") else {}))
    assert read_pixels(tmp_path / name).shape == (60, 40, 3)
    sizes = []

    def right_upper_quarter(width: int, height: int) -> Geometry:
        sizes.append((width, height))
        return Geometry((width / 2, 0, width, height / 2), 8)

    pixels, geometry = read_crop(tmp_path / name, right_upper_quarter)
    assert sizes == [(40, 60)]
    assert geometry == Geometry((20, 0, 40, 30), 8)
    colour = [200, 200, 200] if sixteen else [200, 40, 80]
    assert np.abs(pixels[2:6, 2:6].astype(int) - colour).max() < 12


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"", "not an image"), (b"hello", "not an image"), (encode(Image.fromarray(SQUARES), "PNG")[:90], "damaged")],
)
def test_bad_files_are_named(data: bytes, words: str, tmp_path: Path) -> None:
    """With what can be done about it."""
    path = tmp_path / "bad.jpg"
    path.write_bytes(data)
    with pytest.raises(BadImage, match=rf"bad\.jpg is {words}.*on_bad_image=skip") as caught:
        read_pixels(path)
    assert caught.value.image == str(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """Rather than a traceback."""
    with pytest.raises(BadImage, match=r"gone\.jpg cannot be read") as caught:
        read_pixels(tmp_path / "gone.jpg")
    assert caught.value.image == str(tmp_path / "gone.jpg")


@pytest.mark.parametrize("error", [TypeError("no"), IndexError(), RuntimeError("no"), UserWarning("no")])
def test_whatever_a_decoder_raises_is_the_files_fault(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decoders meet bytes that nobody foresaw; but what chooses the crop is ours, and its errors stay what they are."""
    Image.fromarray(SQUARES).save(tmp_path / "odd.png")

    def fail(*arguments: object) -> None:
        raise error

    with pytest.raises(type(error)):
        read_crop(tmp_path / "odd.png", fail)  # pyright: ignore[reportArgumentType]
    monkeypatch.setattr(Image.Image, "convert", fail)
    with pytest.raises(BadImage, match=r"odd\.png is damaged \(\w+\)"):
        read_pixels(tmp_path / "odd.png")
    with pytest.raises(BadImage, match=r"odd\.png is damaged"):
        crop_whole(tmp_path / "odd.png", side=8)


def test_a_tiff_whose_directory_is_foreign_bytes_is_named() -> None:
    """Whichever byte of it is damaged: many leave nothing to be decoded, and none lets another error through."""
    whole = encode(Image.fromarray(SQUARES), "TIFF")
    start = int.from_bytes(whole[4:8], "little")
    told = []
    for place in range(start, min(start + 200, len(whole))):
        for byte in (1, 12):
            with warnings.catch_warnings(action="ignore"):
                try:
                    decode_pixels(whole[:place] + bytes([byte]) + whole[place + 1 :], name="x.tif")
                except BadImage as error:
                    told.append(str(error))
    assert len(told) > 20
    assert all(sentence.startswith("x.tif is ") for sentence in told)


def test_an_image_that_is_too_large_is_not_called_damaged(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says how large one may be; or that memory is short."""
    data = encode(Image.fromarray(SQUARES), "PNG")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1100)
    with pytest.raises(BadImage, match=r"x is too large: the limit is 2,200 pixels; shrink it, or"):
        decode_pixels(data, name="x")
    monkeypatch.undo()

    def fill(*arguments: object) -> None:
        raise MemoryError

    monkeypatch.setattr(Image.Image, "convert", fill)
    with pytest.raises(BadImage, match=r"x is too large for the available memory; shrink it, or"):
        decode_pixels(data, name="x")
