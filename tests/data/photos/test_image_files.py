"""One walk finds the images under a folder, for training, checks and guesses alike."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.closed import close

from reslab.data.photos.folder import read_folder
from reslab.data.photos.image_files import walk_images
from reslab.delivery.pictures import find_images
from reslab.errors import UserError


def fill(root: Path, *files: str) -> None:
    for file in files:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).touch()


def test_what_is_left_out_is_told(tmp_path: Path) -> None:
    """Files of other names and folders come through before; hidden ones are not there."""
    fill(tmp_path, "b.PNG", "deep/er/a.jpg", "notes", "x.heic", ".hidden/c.jpg", "._d.png")
    (tmp_path / "deep" / "back").symlink_to("..")
    told: list[tuple[str, Path, str]] = []
    found = list(walk_images(tmp_path, set(), tell=lambda *what: told.append(what)))
    assert found == [tmp_path / "b.PNG", tmp_path / "deep/er/a.jpg"]
    assert told == [
        ("duplicate link", tmp_path / "deep/back", ""),
        ("ignored", tmp_path / "notes", "no suffix"),
        ("ignored", tmp_path / "x.heic", ".heic"),
    ]


def test_guesses_are_of_what_would_be_trained_on(tmp_path: Path) -> None:
    """Linked folders included; a link that leads nowhere is named, not ignored, when it is read."""
    fill(tmp_path, "photos/a/1.jpg", "photos/b/1.jpg", "photos/b/2.jpg", "elsewhere/3.jpg", "elsewhere/4.jpg")
    for link, target in (("a/more", "../../elsewhere"), ("b/loop", "."), ("a/gone.jpg", "nowhere.jpg")):
        (tmp_path / "photos" / link).symlink_to(target)
    dataset = read_folder(tmp_path / "photos")
    trained = {tmp_path / "photos" / file for file in dataset.train.files + dataset.test.files}
    assert set(find_images([tmp_path / "photos"])) == trained
    assert len(trained) == 6
    with pytest.raises(UserError, match=r"gone\.jpg cannot be read"):
        _ = dataset.fingerprint


def test_what_may_not_be_entered_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a link leads into it."""
    fill(tmp_path, "photos/1.jpg", "closed/in/2.jpg")
    (tmp_path / "photos" / "more").symlink_to(tmp_path / "closed")
    close(tmp_path / "photos" / "more", monkeypatch)
    with pytest.raises(UserError, match="more cannot be read: Permission denied; check its permissions"):
        list(walk_images(tmp_path / "photos", set()))
