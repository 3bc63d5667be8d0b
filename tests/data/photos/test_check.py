"""A folder is looked through: what stops a training is an error, and the rest is told by how much it matters."""

from __future__ import annotations

import os
import re
import shutil
import warnings
from dataclasses import astuple
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.multilabel import make_labelled
from tests.objects import make_scenes, write_voc

from reslab.data.photos.check import check_folder, scan_photos
from reslab.data.photos.findings import KINDS
from reslab.data.photos.folder import read_folder
from reslab.data.photos.label_list import read_labelled
from reslab.data.photos.reader import read_photos
from reslab.errors import UserError

generator = np.random.default_rng(0)


def save(path: Path, **options: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(generator.integers(0, 256, (40, 50, 3), dtype=np.uint8)).save(path, **options)
    return path


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    for split, count in (("train", 3), ("val", 2)):
        for name in ("ant", "bee"):
            for number in range(count):
                save(tmp_path / "photos" / split / name / f"{number}.png")
    return tmp_path / "photos"


def told(root: Path, **options: int) -> set[tuple[str, str, str]]:
    return {(finding.kind, finding.path, finding.detail) for finding in check_folder(root, **options).findings}


def test_a_sound_folder_passes(photos: Path) -> None:
    """With its counts, and with how far it is told on the way."""
    seen = []
    checked = check_folder(photos, watch=lambda done, total: seen.append((done, total)))
    assert (checked.passed, checked.findings, checked.refusal) == (True, (), None)
    assert (checked.splits, checked.counts) == (("train", "val"), {"ant": (3, 2), "bee": (3, 2)})
    assert seen == [(done, 10) for done in range(11)]


def test_an_unreadable_image_is_an_error(photos: Path) -> None:
    """An odd one is not."""
    (photos / "train" / "ant" / "bad.jpg").write_text("hello")
    save(photos / "train" / "ant" / "odd.JPEG", format="PNG")
    checked = check_folder(photos)
    assert not checked.passed
    assert checked.refusal is None
    assert [finding.path for finding in checked.of("error")] == ["train/ant/bad.jpg"]
    assert [finding.kind for finding in checked.of("note")] == ["misnamed"]


def test_images_on_lists_are_looked_at(tmp_path: Path) -> None:
    """Counted by label and in all; bad ones are found, and those that no list names; so are classes nothing tests."""
    root = make_labelled(make_labelled(tmp_path, count=8, name="train.csv"), count=4, name="val.csv", seed=1)
    save(root / "images" / "stray.png")
    (root / "images" / "val-001.png").write_text("hello")
    checked = check_folder(root)
    dataset = read_labelled(root)
    assert (checked.splits, checked.images, checked.passed) == (("train", "val"), (8, 4), False)
    counts = np.stack([dataset.train.targets.sum(0), dataset.test.targets.sum(0)], 1)
    assert checked.counts == {name: tuple(row) for name, row in zip(dataset.class_names, counts.tolist(), strict=True)}
    found = {(finding.kind, finding.path) for finding in checked.findings if finding.kind != "tiny"}
    assert found == {("unreadable", "images/val-001.png"), ("ignored", "images/stray.png")}
    (root / "val.csv").write_text("image,square,disc,bar\nimages/val-000.png,1,0,0\n")
    assert ("class not in val", "disc", "") in told(root)
    (root / "train.csv").write_text("image,square\nimages/none.png,1\n")
    with pytest.raises(UserError, match=r"train\.csv, line 2: there is no image"):
        check_folder(root)


def test_all_wrong_lines_of_lists_are_found(tmp_path: Path) -> None:
    """Each with its place, beside what is found of the others; a training stops at the first."""
    root = make_labelled(make_labelled(tmp_path, count=8, name="train.csv"), count=4, name="val.csv", seed=1)
    for name in ("train.csv", "val.csv"):
        with (root / name).open("a") as file:
            file.write("images/none.png,1,0,0\nimages/val-000.png,1\n")
    checked = check_folder(root)
    assert (checked.images, checked.passed) == ((8, 4), False)
    assert checked.refusal is not None and "train.csv, line 10: there is no image" in checked.refusal
    assert [(one.kind, one.path, one.detail.split()[0]) for one in checked.of("error")] == [
        ("wrong line", "train.csv, line 10", "there"),
        ("wrong line", "train.csv, line 11", "2"),
        ("wrong line", "val.csv, line 6", "there"),
        ("wrong line", "val.csv, line 7", "2"),
    ]


def test_copies_are_found_across_splits_and_classes(photos: Path) -> None:
    """Whatever the file's form; each with the first of its kind."""
    with Image.open(photos / "train" / "ant" / "0.png") as image:
        image.save(photos / "val" / "ant" / "leak.bmp")
    shutil.copy(photos / "train" / "ant" / "1.png", photos / "train" / "bee" / "ant.png")
    shutil.copy(photos / "train" / "ant" / "2.png", photos / "train" / "ant" / "2b.png")
    shutil.copy(photos / "train" / "bee" / "0.png", photos / "val" / "ant" / "bee.png")
    expected = {
        ("in train and val", "val/ant/leak.bmp", "same as train/ant/0.png"),
        ("two labels", "train/bee/ant.png", "same as train/ant/1.png"),
        ("duplicate", "train/ant/2b.png", "same as train/ant/2.png"),
        ("in train and val", "val/ant/bee.png", "same as train/bee/0.png"),
        ("two labels", "val/ant/bee.png", "same as train/bee/0.png"),
    }
    assert check_folder(photos).passed
    assert told(photos) == expected


def test_the_number_of_workers_changes_nothing(photos: Path) -> None:
    """Findings come in the order of their kinds, then by path."""
    exif = Image.Exif()
    exif[0x0112] = 3
    for number in range(20):
        save(photos / "train" / "bee" / f"turned{number}.jpg", exif=exif)
    save(photos / "val" / "bee" / "broken.jpg", exif=b"Exif\0\0II*\0\xff\xff\xff\xff")
    one, many = check_folder(photos, workers=1), check_folder(photos, workers=5)
    assert one == many
    assert [finding.kind for finding in one.findings] == ["broken EXIF"] + ["rotated by EXIF"] * 20
    assert one.findings[1].path < one.findings[2].path


def test_warnings_are_as_they_were_afterwards(photos: Path) -> None:
    """Threads that silence Pillow do not silence what follows."""
    for number in range(20):
        save(photos / "train" / "bee" / f"broken{number}.jpg", exif=b"Exif\0\0II*\0\xff\xff\xff\xff")
    before = list(warnings.filters)
    check_folder(photos, workers=4)
    assert warnings.filters == before


def test_what_read_folder_stops_at_is_said_too(photos: Path, tmp_path: Path) -> None:
    """Also where it is no single file or folder: too few classes, or images, or nothing to test on."""
    (photos / "train" / "cricket").mkdir()
    save(photos / "val" / "wasp" / "0.png")
    checked = check_folder(photos)
    assert {finding.kind for finding in checked.of("error")} == {"empty class", "class only in val"}
    assert "cricket has no images" in (checked.refusal or "")
    save(tmp_path / "one" / "ant" / "0.png")
    checked = check_folder(tmp_path / "one")
    assert {finding.kind for finding in checked.of("error")} == {"too few classes", "single image"}
    assert "has 1 folder of images, but at least two classes are needed" in (checked.refusal or "")


def test_nothing_to_look_at_is_refused(tmp_path: Path) -> None:
    """A folder that is not there, or has no classes."""
    with pytest.raises(UserError, match="there is no folder"):
        check_folder(tmp_path / "nowhere")
    with pytest.raises(UserError, match="has no folders of images"):
        check_folder(tmp_path)


def test_severities_are_three() -> None:
    """The command line has a colour for each."""
    assert {kind.severity for kind in KINDS.values()} == {"error", "warning", "note"}


def test_too_little_to_train_on_is_an_error(tmp_path: Path) -> None:
    """One class; a class of one image where some are to be held out, which a val of its own mends."""
    for number in range(2):
        save(tmp_path / "photos" / "ant" / f"{number}.png")
    assert told(tmp_path / "photos") == {("too few classes", ".", "one class")}
    save(tmp_path / "photos" / "bee" / "0.png")
    assert told(tmp_path / "photos") == {("single image", "bee", "")}
    assert not check_folder(tmp_path / "photos").passed
    (tmp_path / "photos").rename(tmp_path / "train")
    (tmp_path / "photos").mkdir()
    (tmp_path / "train").rename(tmp_path / "photos" / "train")
    for name in ("ant", "bee"):
        save(tmp_path / "photos" / "val" / name / "0.png")
    assert told(tmp_path / "photos") == set()


def test_uneven_classes_are_noted(photos: Path) -> None:
    """From ten to one on, by what there is to train on."""
    for number in range(3, 29):
        save(photos / "train" / "bee" / f"{number}.png")
    assert told(photos) == set()
    save(photos / "train" / "bee" / "29.png")
    (finding,) = check_folder(photos).findings
    assert (finding.kind, finding.path, finding.detail) == ("uneven classes", "ant", "3 images; bee has 30")
    assert check_folder(photos).passed
    assert "recipe.class_weights=balanced" in KINDS[finding.kind].meaning


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
    scan, dataset = scan_photos(tmp_path), read_folder(tmp_path)
    assert (scan.splits, scan.classes) == (splits, dataset.class_names)
    labels = [*dataset.train.targets, *dataset.test.targets]
    files = dict(zip(dataset.train.files + dataset.test.files, labels, strict=True))
    assert {photo.path: photo.labels[0] for photo in scan.photos} == {
        file: dataset.class_names[label] for file, label in files.items()
    }
    assert not any("/." in file for file in files)
    assert {finding.kind for finding in scan.findings} == {"ignored"}


def test_links_are_followed_as_read_folder_does_and_told(tmp_path: Path) -> None:
    """Each folder of a class is read once, whatever ways lead there."""
    fill(tmp_path, *(f"{split}/{name}" for split in ("train", "val") for name in ("a/1.jpg", "a/2.jpg", "b/in/1.jpg")))
    for link, target in (("train/a/loop", "."), ("train/a/up", "../.."), ("val/b/to", "in"), ("train/c", ".")):
        (tmp_path / link).symlink_to(target)
    scan, dataset = scan_photos(tmp_path), read_folder(tmp_path)
    assert sorted(photo.path for photo in scan.photos) == sorted(dataset.train.files + dataset.test.files)
    assert (len(scan.photos), scan.classes) == (6, dataset.class_names)
    expected = [("duplicate link", path, "") for path in ("train/a/loop", "train/a/up", "train/c", "val/b/to")]
    assert sorted(map(astuple, scan.findings)) == expected


def test_every_trouble_is_told(tmp_path: Path) -> None:
    """At once, where `read_folder` stops at the first."""
    fill(tmp_path, "train/a/1.jpg", "train/a/x.heic", "train/b/1.jpg", "train/stray.jpg", "other/1.jpg", "loose.png")
    fill(tmp_path, "val/a/1.jpg", "val/c/1.jpg", "README.md", "train/a/.DS_Store")
    (tmp_path / "train" / "d").mkdir()
    assert set(map(astuple, scan_photos(tmp_path).findings)) == {
        ("ignored", "train/a/x.heic", ".heic"),
        ("ignored", "train/stray.jpg", "not in a class"),
        ("ignored", "other", "beside train and val"),
        ("ignored", "loose.png", "beside train and val"),
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
    scan = scan_photos(tmp_path)
    assert [photo.path for photo in scan.photos] == ["b/1.jpg", "b/2.jpg"]
    assert [astuple(finding) for finding in scan.findings] == [
        ("closed folder", "a", "Permission denied"),
        ("closed folder", "b/more", "Permission denied"),
    ]


def test_objects_are_looked_at(tmp_path: Path) -> None:
    """Images by the classes in them; all that is wrong with annotations is found at once, and what stops a training."""
    train, val = make_scenes("t", 6), make_scenes("v", 3, seed=1)
    root = write_voc(tmp_path / "voc", train=train, val=val)
    checked = check_folder(root)
    assert checked.passed
    assert (checked.splits, checked.images) == (("train", "val"), (6, 3))
    shown = [sum("bar" in [name for name, *_ in scene.boxes] for scene in scenes) for scenes in (train, val)]
    assert checked.counts["bar"] == tuple(shown)
    save(root / "JPEGImages" / "stray.png")
    annotations = [root / "Annotations" / f"t00{number}.xml" for number in range(6)]
    whole = [path.read_text() for path in annotations]
    annotations[0].write_text(re.sub("<xmax>[0-9]+<", "<xmax>-5<", whole[0]))
    annotations[1].write_text(whole[1].replace("<width>60<", "<width>61<"))
    annotations[2].write_text('<!DOCTYPE a [<!ENTITY a "b">]>' + whole[2])
    annotations[3].unlink()
    annotations[4].write_text(re.sub("<object>.*</object>", "", whole[4]))
    (root / "JPEGImages" / "t005.jpg").unlink()
    checked = check_folder(root)
    assert not checked.passed
    errors = {(finding.kind, finding.path) for finding in checked.findings if finding.severity == "error"}
    assert errors == {
        ("wrong box", "Annotations/t000.xml"),
        ("other size", "Annotations/t001.xml"),
        ("wrong annotation", "Annotations/t002.xml"),
        ("no annotation", "JPEGImages/t003.jpg"),
        ("missing image", "ImageSets/Main/train.txt"),
    }
    others = {(finding.kind, finding.path) for finding in checked.findings if finding.severity != "error"}
    assert {("ignored", "JPEGImages/stray.png"), ("no objects", "JPEGImages/t004.jpg")} <= others
    assert checked.refusal is not None
    with pytest.raises(UserError, match=re.escape(checked.refusal)):
        read_photos(root)
