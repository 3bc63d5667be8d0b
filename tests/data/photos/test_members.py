"""A photograph within a tar is read from its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.photographs import make_photos

from reslab.data.photos.members import Member, digest_content
from reslab.data.photos.pixels import read_pixels
from reslab.data.photos.reader import read_photos
from reslab.data.reading import BadImage
from reslab.errors import UserError


def test_a_member_is_a_stretch_of_its_tar(tmp_path: Path) -> None:
    """Its bytes, its suffix, and a name that says which tar."""
    (tmp_path / "a.tar").write_bytes(b"0123456789")
    member = Member(tmp_path / "a.tar", "ants/1.v2.JPG", 3, 4)
    assert member.read_bytes() == b"3456"
    assert (member.suffix, str(member)) == (".JPG", f"{tmp_path}/a.tar/ants/1.v2.JPG")


def test_a_tar_that_went_or_was_cut_is_told_as_a_bad_image(tmp_path: Path) -> None:
    """By the image's name."""
    (tmp_path / "a.tar").write_bytes(b"0123456789")
    with pytest.raises(BadImage, match=r"a\.tar/1\.jpg cannot be read: the tar ends 2 bytes too early; check the file"):
        read_pixels(Member(tmp_path / "a.tar", "1.jpg", 8, 4))
    with pytest.raises(BadImage, match=r"b\.tar/1\.jpg cannot be read: No such file"):
        read_pixels(Member(tmp_path / "b.tar", "1.jpg", 8, 4))


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    """With the remedy."""
    split = read_photos(make_photos(tmp_path / "photos")).train
    Path(str(split.path(0))).unlink()
    with pytest.raises(UserError, match=r"000\.jpg cannot be read: No such file or directory; replace it or remove it"):
        digest_content(split.path(0))
