"""Images on lists: each once, with its annotation; what is missing is told with the line or the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.objects import listen, make_scenes, write_voc

from reslab.data.objects.annotations import Folders, Teller
from reslab.data.objects.kept_files import KeptFiles
from reslab.data.objects.listed import Listed, find_names, read_listed, read_names
from reslab.data.photos.findings import refuse
from reslab.errors import UserError

PLACES = ("JPEGImages", "Annotations")


def test_names_are_lines_with_or_without_a_label(tmp_path: Path) -> None:
    """Lists of one class have labels; a name may have spaces, and end like a label."""
    (tmp_path / "list.txt").write_bytes(b"\xef\xbb\xbfa000 -1\r\n\n  a001  1\na b 1\n")
    assert read_names(tmp_path / "list.txt") == ("a000 -1", "a001  1", "a b 1")
    write_voc(tmp_path, train=make_scenes("a", 2))
    for suffix, folder in ((".jpg", "JPEGImages"), (".xml", "Annotations")):
        (tmp_path / folder / f"a001{suffix}").rename(tmp_path / folder / f"a b 1{suffix}")
    lists = [Listed("list.txt", ("a000 -1", "a b 1"), *PLACES)]
    found = read_listed(Folders(tmp_path), lists, kept=KeptFiles(tmp_path), teller=Teller(tmp_path, refuse))
    assert [image.file for image in found] == ["JPEGImages/a000.jpg", "JPEGImages/a b 1.jpg"]
    assert find_names(tmp_path, "Annotations") == ("a b 1", "a000")


def test_what_is_missing_or_there_twice_is_told(tmp_path: Path) -> None:
    """Where it does not stop, the rest is read; names never lead out of the folder."""
    write_voc(tmp_path, train=make_scenes("a", 3))
    (tmp_path / "Annotations" / "a001.xml").unlink()
    (tmp_path / "Annotations" / "a002.xml").write_text("<annotation>")
    names = ("a000", "a000", "gone", "../a000", str(tmp_path / "JPEGImages" / "a000"), "a001", "a002")
    heard, tell = listen()
    folders, kept = Folders(tmp_path), KeptFiles(tmp_path)
    found = read_listed(folders, [Listed("list.txt", names, *PLACES)], kept=kept, teller=Teller(tmp_path, tell))
    assert [image.file for image in found] == ["JPEGImages/a000.jpg"]
    assert heard == [
        ("listed twice", "JPEGImages/a000.jpg", False),
        *[("missing image", "list.txt", True)] * 3,
        ("no annotation", "JPEGImages/a001.jpg", True),
        ("wrong annotation", "Annotations/a002.xml", True),
    ]
    for name, told in (
        ("gone", "gone is listed, but JPEGImages has no such image"),
        ("a001", "there is no annotation"),
    ):
        with pytest.raises(UserError, match=told):
            read_listed(folders, [Listed("list.txt", (name,), *PLACES)], kept=kept, teller=Teller(tmp_path, refuse))
