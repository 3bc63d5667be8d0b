"""Bad images stop the work, or are told once each and left out, up to a few."""

from __future__ import annotations

import pytest

from reslab.data.photos.folder import PhotoDataset
from reslab.data.photos.skipping import BadImages, Skipped
from reslab.errors import UserError


def test_an_image_is_told_once_whatever_is_said_of_it(photos: PhotoDataset) -> None:
    """A file cut short is told of otherwise when it is decoded smaller; it is one bad image all the same."""
    told: list[str] = []
    bad, file = BadImages(photos, skip=True, warn=told.append), str(photos.train.path(0))
    bad.note(
        [(file, f"{file} is damaged (5 bytes missing)"), (file, f"{file} is damaged (3 bytes missing)")], part="train"
    )
    assert told == [f"skipped: {file} is damaged (5 bytes missing)"]
    assert (bad.count("train"), bad.count("test")) == (1, 0)
    bad.add([Skipped("train", photos.train.files[0], "is damaged")])
    assert len(told) == 1
    with pytest.raises(UserError, match=r"more than 1 image is bad.*000\.jpg cannot be read"):
        bad.note([(other := str(photos.test.path(0)), f"{other} cannot be read")], part="test")


def test_the_first_stops_where_none_are_to_be_skipped(photos: PhotoDataset) -> None:
    """With its sentence as it is."""
    with pytest.raises(UserError, match=r"^x is damaged, or set data\.on_bad_image=skip$"):
        BadImages(photos).note([("x", "x is damaged, or set data.on_bad_image=skip")], part="test")


def test_those_known_before_count(photos: PhotoDataset) -> None:
    """And all are handed on to be kept."""
    kept: list[list[Skipped]] = []
    known = Skipped("train", photos.train.files[0], "is damaged")
    bad = BadImages(photos, skip=True, known=[known], keep=lambda skipped: kept.append(list(skipped)))
    bad.most = 2
    file = str(photos.test.path(1))
    bad.note([(file, f"{file} cannot be read; check the file")], part="test")
    assert kept == [[known, Skipped("test", photos.test.files[1], "cannot be read; check the file")]]
