"""Files, arrays, folders and datasets become pictures; what cannot is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from tests.multilabel import make_labelled

from reslab.data.catalogue import open_data
from reslab.data.photos.pixels import read_pixels
from reslab.data.reading import BadImage
from reslab.delivery.pictures import Pictures, as_sequence, find_images, label_pictures, read_images
from reslab.errors import UserError


def test_folders_stand_for_what_is_under_them(photos: Path, tmp_path: Path) -> None:
    """Recursively, by name, without hidden files and other things; files stand for themselves."""
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "a.png").touch()
    (tmp_path / "deep" / "er").mkdir(parents=True)
    for name in ("deep/er/b.JPG", "deep/c.png", "notes.txt", "._d.png"):
        (tmp_path / name).touch()
    inside = [tmp_path / "deep/c.png", tmp_path / "deep/er/b.JPG"]
    assert find_images([tmp_path, tmp_path / "notes.txt"]) == [*inside, tmp_path / "notes.txt"]
    assert len(find_images([photos])) == 32
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="empty has no images; give files, or a folder that has some"):
        find_images([tmp_path / "empty"])


def test_what_is_not_there_is_told_at_once(tmp_path: Path) -> None:
    """Or left out, where someone takes note."""
    (tmp_path / "there.png").touch()
    words = [tmp_path / "none.png", tmp_path / "there.png"]
    with pytest.raises(UserError, match=r"none\.png cannot be read: No such file"):
        find_images(words)
    noted: list[UserError] = []
    assert find_images(words, on_bad=noted.append) == words[1:]
    assert "none.png" in str(noted[0])


def test_arrays_and_pillow_images_are_images_too(photos: Path) -> None:
    """The same bytes as from the file, alone or among others; grey has one channel."""
    path = photos / "val/ants/photo-0.png"
    with Image.open(path) as image:
        array = np.asarray(image)
        (from_pillow,) = read_images(as_sequence(image))
    from_file, from_array, grey = read_images([path, array, array[:, :, 0]])
    assert torch.equal(from_file.pixels, from_array.pixels)
    assert torch.equal(from_file.pixels, from_pillow.pixels)
    assert (from_file.name, from_array.name, grey.pixels.shape) == (str(path), "image 2", (1, 24, 30))


def test_transparency_is_dropped_from_arrays_as_from_files(tmp_path: Path) -> None:
    """RGBA and grey with alpha, as arrays and as Pillow images; an array of grey has one channel."""
    generator = np.random.default_rng(0)
    for mode, channels in (("RGBA", 4), ("LA", 2)):
        array = generator.integers(0, 256, (6, 5, channels), dtype=np.uint8)
        image = Image.merge(mode, [Image.fromarray(channel) for channel in array.transpose(2, 0, 1)])
        image.save(tmp_path / f"{mode}.png")
        of_file, of_array, of_image = read_images([tmp_path / f"{mode}.png", array, image])
        assert torch.equal(of_image.pixels, of_file.pixels)
        assert torch.equal(of_array.pixels.expand(3, -1, -1), of_file.pixels)


def test_a_pillow_image_is_the_picture_its_file_is(tmp_path: Path) -> None:
    """Turned by EXIF and out of its inks, alone or among others; a damaged one is named, not a traceback."""
    exif = Image.Exif()
    exif[0x0112] = 6
    path = tmp_path / "turned.jpg"
    generator = np.random.default_rng(0)
    Image.fromarray(generator.integers(0, 256, (24, 40, 4), np.uint8), "CMYK").save(path, exif=exif)
    with Image.open(path) as image:
        (alone,) = read_images(as_sequence(image))
        of_file, of_image = read_images([path, image])
    assert of_file.pixels.shape == (3, 40, 24)
    assert torch.equal(of_image.pixels, of_file.pixels)
    assert torch.equal(alone.pixels, of_file.pixels)
    path.write_bytes(path.read_bytes()[:1200])
    with Image.open(path) as image, pytest.raises(BadImage, match="image 1 is damaged"):
        list(read_images(as_sequence(image)))


def test_a_bad_image_is_named_or_left_out(photos: Path, tmp_path: Path) -> None:
    """The stream stops at it, or goes on when someone takes note."""
    (tmp_path / "bad.jpg").write_bytes(b"no image")
    good = photos / "val/ants/photo-0.png"
    images = [good, tmp_path / "bad.jpg", np.zeros((4, 4, 3)), tmp_path / "none.jpg", good]
    with pytest.raises(BadImage, match=r"bad\.jpg is not an image"):
        list(read_images(images))
    noted: list[BadImage] = []
    assert [picture.name for picture in read_images(images, on_bad=noted.append)] == [str(good)] * 2
    assert "image 3 is an array of float64" in str(noted[1])
    assert "none.jpg cannot be read: No such file" in str(noted[2])


def test_data_by_folder_or_name(photos: Path, tmp_path: Path) -> None:
    """Both give pictures with labels, again and again, and an even choice of them."""
    folder, digits = label_pictures(open_data(str(photos))), label_pictures(open_data("digits"))
    assert (folder.class_names, len(folder.train), len(folder.test)) == (("ants", "bees"), 24, 8)
    assert [picture.label for picture in folder.test] == [0] * 4 + [1] * 4
    assert [picture.label for picture in folder.train.spread(4)] == [0, 0, 1, 1]
    assert len(folder.train.spread(100)) == 24
    tagged = Pictures(split=open_data(str(make_labelled(tmp_path / "tagged", count=8))).test)
    assert [picture.label for picture in tagged] == tagged.split.targets.tolist()  # several to each
    first = next(iter(digits.test))
    assert (first.pixels.shape, first.brightest, first.label) == ((1, 8, 8), 16, int(digits.test.split.targets[0]))
    with pytest.raises(UserError, match="did you mean 'digits'"):
        label_pictures(open_data("digts"))


def test_few_images_are_held_where_few_threads_read(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice as many as there are threads: those of a telephone are large."""
    read = []
    monkeypatch.setattr("reslab.delivery.pictures.read_pixels", lambda path: read.append(path) or read_pixels(path))
    stream = read_images(find_images([photos]), threads=2)
    next(stream)
    assert len(read) <= 4
    assert len(list(stream)) == 31
