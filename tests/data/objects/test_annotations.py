"""What all layouts share: who hears of trouble, which paths are under a root, which image a name means."""

from __future__ import annotations

from pathlib import Path

import pytest

from reslab.data.objects.annotations import Folders, Teller, Trouble, refuse_large, under
from reslab.data.photos.findings import Finding, refuse
from reslab.errors import UserError


def test_trouble_stops_or_is_noted(tmp_path: Path) -> None:
    """With the place under the root; what stops nothing raises nothing."""
    with pytest.raises(UserError, match=r"a\.xml: is odd"):
        Teller(tmp_path, refuse).stop("wrong annotation", "a.xml", "is odd")
    Teller(tmp_path, refuse).note("no objects", "a.jpg")
    heard: list[tuple[Finding | None, str | None]] = []
    teller = Teller(tmp_path, lambda *told: heard.append(told))
    teller.stop("wrong box", "a.xml", "is odd")
    teller.note("no objects", "a.jpg")
    assert heard[0] == (Finding("wrong box", "a.xml", "is odd"), f"{tmp_path / 'a.xml'}: is odd")
    assert heard[1] == (Finding("no objects", "a.jpg"), None)


def test_images_are_found_by_their_names(tmp_path: Path) -> None:
    """Whatever their ending; other files are none."""
    for name in ("a.JPG", "b.c.png", "d.txt"):
        (tmp_path / name).touch()
    folders = Folders(tmp_path.parent)
    found = [folders.find(tmp_path.name, stem) for stem in ("a", "b.c", "d", "e")]
    assert found == [f"{tmp_path.name}/a.JPG", f"{tmp_path.name}/b.c.png", None, None]
    assert folders.find("nowhere", "a") is None


def test_paths_stay_under_the_root(tmp_path: Path) -> None:
    """Others are refused, and files that are too large."""
    assert under(tmp_path, tmp_path / "a" / "b.jpg") == "a/b.jpg"
    for path in (Path("/etc/passwd"), tmp_path / ".." / "a.jpg"):
        with pytest.raises(UserError, match="move the images there"):
            under(tmp_path, path)
    (tmp_path / "a").write_bytes(bytes(2000))
    refuse_large(tmp_path / "a", 2000)
    with pytest.raises(Trouble, match=r"2\.0 KiB are more than"):
        refuse_large(tmp_path / "a", 1999)
