"""The images of a folder are found where `read_folder` finds them, and every trouble with the places is told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reslab.data.photos.folder import read_folder
from reslab.data.photos.scan import scan_folder


def fill(root: Path, *files: str) -> Path:
    for file in files:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_bytes(b"an image, by its name")
    return root


@pytest.mark.parametrize("val", ["val", "valid", "test", None])
def test_the_images_are_those_of_read_folder(val: str | None, tmp_path: Path) -> None:
    """Folders within classes included; hidden files and others are not."""
    names = ("a/1.jpg", "a/2.PNG", "a/more/3.jpeg", "b/1.gif", "b/2.gif", "a/.hidden.jpg", "a/notes.txt", ".c/1.jpg")
    names += ("a/.ipynb_checkpoints/1-checkpoint.jpg",)
    splits = ("train", val) if val else ("",)
    fill(tmp_path, *(f"{split}/{name}".lstrip("/") for split in splits for name in names))
    scan, dataset = scan_folder(tmp_path), read_folder(tmp_path)
    assert (scan.splits, scan.classes) == (splits, dataset.class_names)
    labels = [*dataset.train.targets, *dataset.test.targets]
    files = dict(zip(dataset.train.files + dataset.test.files, labels, strict=True))
    assert {photo.path: photo.labels[0] for photo in scan.photos} == {
        file: dataset.class_names[label] for file, label in files.items()
    }
    assert not any("/." in file for file in files)
    assert {trouble[0] for trouble in scan.troubles} == {"passed over"}


def test_links_are_followed_as_read_folder_does_and_told(tmp_path: Path) -> None:
    """Each folder of a class is read once, whatever ways lead there."""
    fill(tmp_path, *(f"{split}/{name}" for split in ("train", "val") for name in ("a/1.jpg", "a/2.jpg", "b/in/1.jpg")))
    for link, target in (("train/a/loop", "."), ("train/a/up", "../.."), ("val/b/to", "in"), ("train/c", ".")):
        (tmp_path / link).symlink_to(target)
    scan, dataset = scan_folder(tmp_path), read_folder(tmp_path)
    assert sorted(photo.path for photo in scan.photos) == sorted(dataset.train.files + dataset.test.files)
    assert (len(scan.photos), scan.classes) == (6, dataset.class_names)
    told = [("linked again", path, "") for path in ("train/a/loop", "train/a/up", "train/c", "val/b/to")]
    assert sorted(scan.troubles) == told


def test_every_trouble_is_told(tmp_path: Path) -> None:
    """At once, where `read_folder` stops at the first."""
    fill(tmp_path, "train/a/1.jpg", "train/a/x.heic", "train/b/1.jpg", "train/stray.jpg", "other/1.jpg", "loose.png")
    fill(tmp_path, "val/a/1.jpg", "val/c/1.jpg", "README.md", "train/a/.DS_Store")
    (tmp_path / "train" / "d").mkdir()
    assert set(scan_folder(tmp_path).troubles) == {
        ("passed over", "train/a/x.heic", ".heic"),
        ("passed over", "train/stray.jpg", "in no class"),
        ("passed over", "other", "beside train and val"),
        ("passed over", "loose.png", "beside train and val"),
        ("class not in val", "train/b", ""),
        ("class only in val", "val/c", ""),
        ("empty class", "train/d", ""),
    }


def test_a_closed_folder_is_told_and_passed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not called empty besides."""
    fill(tmp_path, "a/1.jpg", "b/1.jpg", "b/2.jpg", "b/more/1.jpg")
    listed = os.scandir

    def scandir(folder: Path) -> object:
        if Path(folder).name in ("a", "more"):
            raise PermissionError(13, "Permission denied")
        return listed(folder)

    monkeypatch.setattr(os, "scandir", scandir)
    scan = scan_folder(tmp_path)
    assert [photo.path for photo in scan.photos] == ["b/1.jpg", "b/2.jpg"]
    assert scan.troubles == (
        ("closed folder", "a", "Permission denied"),
        ("closed folder", "b/more", "Permission denied"),
    )
