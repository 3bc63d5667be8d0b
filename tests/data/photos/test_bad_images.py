"""Bad images stop the work, or are told once each and left out, up to a few."""

from __future__ import annotations

from pathlib import Path

import pytest

from reslab.data.photos.bad_images import BadImages, Skipped, read_skipped, write_skipped
from reslab.data.photos.folder import PhotoDataset
from reslab.data.photos.pixels import OR_SKIP
from reslab.data.reading import BadImage
from reslab.errors import UserError
from reslab.runtime.listener import Listener


def test_an_image_is_told_once_whatever_is_said_of_it(photos: PhotoDataset) -> None:
    """A file cut short is told of otherwise when it is decoded smaller; it is one bad image all the same."""
    told: list[str] = []
    bad, file = BadImages(photos, skip=True, listener=Listener(warn=told.append)), str(photos.train.path(0))
    for missing in (5, 3):
        bad.note(BadImage(f"{file} is damaged ({missing} bytes missing)", image=file), part="train")
    assert told == [f"skipped: {file} is damaged (5 bytes missing)"]
    assert (bad.count("train"), bad.count("test")) == (1, 0)
    bad.add([Skipped("train", photos.train.files[0], "is damaged")])
    assert len(told) == 1
    with pytest.raises(UserError, match=r"more than 1 image cannot be read.*000\.jpg cannot be read"):
        bad.note(BadImage(f"{(other := str(photos.test.path(0)))} cannot be read", image=other), part="test")


def test_the_first_stops_where_none_are_to_be_skipped(photos: PhotoDataset) -> None:
    """With its sentence as it is."""
    with pytest.raises(UserError, match=r"^x is damaged, or set data\.on_bad_image=skip$"):
        BadImages(photos).note(BadImage("x is damaged, or set data.on_bad_image=skip", image="x"), part="test")


def test_those_known_before_count(photos: PhotoDataset, tmp_path: Path) -> None:
    """And all are kept in the run's folder."""
    known = Skipped("train", photos.train.files[0], "is damaged")
    bad = BadImages(photos, skip=True, known=[known], folder=tmp_path)
    bad.most = 2
    file = str(photos.test.path(1))
    bad.note(BadImage(f"{file} cannot be read; check the file", image=file), part="test")
    assert read_skipped(tmp_path) == [known, Skipped("test", photos.test.files[1], "cannot be read; check the file")]


def test_what_is_read_in_order_is_noted_by_its_part(photos: PhotoDataset) -> None:
    """By the image that the error is of, whatever its number is; where none are skipped it stops."""
    file = str(photos.test.path(1))
    error = BadImage(f"{file} is damaged (5 bytes missing); replace it{OR_SKIP}", image=file)
    bad = BadImages(photos, skip=True)
    bad.noting("test")(7, error)
    assert list(bad.skipped.values()) == [
        Skipped("test", photos.test.files[1], "is damaged (5 bytes missing); replace it")
    ]
    with pytest.raises(UserError, match=r"is damaged \(5 bytes missing\); replace it, or set data\.on_bad_image=skip$"):
        BadImages(photos).noting("test")(7, error)


def test_what_was_skipped_is_written_and_read_back(tmp_path: Path) -> None:
    """Nothing was where there is no file; one that is damaged is named."""
    assert read_skipped(tmp_path) == []
    skipped = [Skipped("train", "a/1.jpg", "is damaged"), Skipped("test", "b/2.jpg", "cannot be read")]
    write_skipped(tmp_path, skipped)
    assert read_skipped(tmp_path) == skipped
    for content in ("", "[]", '{"images": [{"part": "somewhere"}]}', '{"images": 3}'):
        (tmp_path / "skipped.json").write_text(content)
        with pytest.raises(UserError, match=r"skipped\.json is damaged \(.*\); remove this file to resume the run"):
            read_skipped(tmp_path)
