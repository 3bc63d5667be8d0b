"""YOLO: fractions of images, classes by their numbers, and the many ways to say where images are."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.objects import CLASSES, listen, make_scenes, write_yolo

from reslab.data.objects import yolo
from reslab.data.objects.annotations import Annotations, Teller, Thing
from reslab.data.objects.yolo import find_yolo, read_yolo
from reslab.data.photos.findings import refuse
from reslab.errors import UserError


def read(root: Path) -> Annotations:
    return read_yolo(root, Teller(root, refuse))


def divide(root: Path) -> dict[str, list[str]]:
    return {split: [image.file for image in images] for split, images in read(root).splits.items()}


def describe(root: Path, text: str) -> None:
    (root / "data.yaml").write_text(text)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_yolo(tmp_path / "yolo", train=make_scenes("t", 3), val=make_scenes("v", 2))


WHOLE = {
    "train": ["images/train/t000.jpg", "images/train/t001.jpg", "images/train/t002.jpg"],
    "val": ["images/val/v000.jpg", "images/val/v001.jpg"],
}


def test_objects_are_fractions_of_their_image(root: Path) -> None:
    """Told by their line, as it says it once they are in pixels."""
    found = read(root)
    (thing, _), scene = found.splits["train"][1].things, make_scenes("t", 2)[1]
    name, left, top, right, bottom = scene.boxes[0]
    assert (thing.name, found.classes, found.splits["train"][1].has_fractions) == (name, CLASSES, True)
    assert thing[1:5] == pytest.approx((left / 60, top / 45, right / 60, bottom / 45), abs=1e-6)
    assert found.write(Thing("bar", 0, 0, 30, 9, 7), (60, 45)) == "line 7 (bar): 0.25 0.1 0.5 0.2"
    assert divide(root) == WHOLE
    assert find_yolo(root) == "data.yaml"


def test_outlines_have_extents_and_images_without_lines_no_objects(root: Path) -> None:
    """Corners by turns; a file that is not there is one without lines."""
    (root / "labels" / "train" / "t000.txt").write_text("1 0.1 0.2 0.5 0.1 0.3 0.6\n\n")
    (root / "labels" / "train" / "t001.txt").unlink()
    first, second, _ = read(root).splits["train"]
    assert first.things == (Thing("disc", 0.1, 0.1, 0.5, 0.6, 1),)
    assert second.things == ()


@pytest.mark.parametrize(
    "text",
    [
        "train: images/train\nval: images/val\nnames: {0: bar, 1: disc, 2: square}",
        "path: .\ntrain: [images/train]\nval: images/val\nnames: [bar, disc, square]",
        "path: /of/another/machine\ntrain: images/train\nval: images/val\nnames: [bar, disc, square]",
        "train: ../images/train\nval: ../images/val\nnames: [bar, disc, square]",
        "train: lists/train.txt\ntest: images/val\nnames: [bar, disc, square]",
    ],
)
def test_places_are_found_however_they_are_written(root: Path, text: str) -> None:
    """As folders, lists of folders or of files; from another machine, and as Roboflow writes them."""
    (root / "lists").mkdir()
    (root / "lists" / "train.txt").write_text("".join(f"{file}\n" for file in WHOLE["train"]))
    describe(root, text)
    assert divide(root) == WHOLE


def test_without_a_description_folders_say_it(root: Path) -> None:
    """With the classes on a list; the split may be above the two trees, or there may be none."""
    (root / "data.yaml").unlink()
    assert find_yolo(root) is None
    (root / "classes.txt").write_text("bar\ndisc\nsquare\n")
    assert (find_yolo(root), divide(root)) == ("classes.txt", WHOLE)
    for tree in ("images", "labels"):
        for split, name in (("train", "train"), ("val", "valid")):
            (root / name).mkdir(exist_ok=True)
            (root / tree / split).rename(root / name / tree)
    assert divide(root)["val"] == ["valid/images/v000.jpg", "valid/images/v001.jpg"]
    for tree in ("images", "labels"):
        (root / tree).rmdir()
        (root / "train" / tree).rename(root / tree)
    assert divide(root) == {"": ["images/t000.jpg", "images/t001.jpg", "images/t002.jpg"]}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("3 0.5 0.5 0.1 0.1", "line 1: class 3 is none of the 3"),
        ("-1 0.5 0.5 0.1 0.1", "class -1 is none"),
        ("0.5 0.5 0.5 0.1 0.1", "class 0.5 is none"),
        ("nan 0.5 0.5 0.1 0.1", "class nan is none"),
        ("0 0.5 0.5 0.1", "line 1 has 4 numbers"),
        ("0 0.5 0.5 0.1 0.1 0.9", "line 1 has 6 numbers"),
        ("0 0.5 half 0.1 0.1", "line 1 is '0 0.5 half 0.1 0.1'; write numbers"),
    ],
)
def test_wrong_lines_are_told(root: Path, line: str, told: str) -> None:
    """With the file and the line."""
    (root / "labels" / "val" / "v000.txt").write_text(line)
    with pytest.raises(UserError, match=rf"labels/val/v000\.txt: .*{told}"):
        read(root)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("train: images/train\nnames: []", "names is not a list"),
        ("train: images/train\nnames: {0: a, 2: b}", "names is not a list"),
        ("train: images/train\nnc: 2\nnames: [a]", "nc is 2, but there are 1 names"),
        ("train: images/train\nnames: [a, a]", "names has a twice"),
        ("train: images/none\nnames: [a]", "train is 'images/none', but"),
        ("train: ''\nnames: [a]", "neither train nor val is given"),
        ("train: /\nnames: [a]", "is not in"),
    ],
)
def test_wrong_descriptions_are_told(root: Path, text: str, told: str) -> None:
    """In a sentence; what is elsewhere on the machine is not read."""
    describe(root, text)
    with pytest.raises(UserError, match=told):
        read(root)


def test_missing_and_repeated_images_are_told(root: Path) -> None:
    """Of lists of files."""
    (root / "train.txt").write_text("images/train/t000.jpg\nimages/train/t000.jpg\nimages/train/gone.jpg\n")
    describe(root, "train: train.txt\nval: images/val\nnames: [bar, disc, square]")
    heard, tell = listen()
    found = read_yolo(root, Teller(root, tell))
    assert heard == [("listed twice", "images/train/t000.jpg", False), ("missing image", "images/train/gone.jpg", True)]
    assert len(found.splits["train"]) == 1


def test_files_that_take_too_much_or_cannot_be_read_are_none(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A description that builds objects of Python's is not followed."""
    describe(root, "train: !!python/object/apply:os.getcwd []\nnames: [a]")
    assert find_yolo(root) is None
    (root / "other.yml").write_text("train: images/train\nnames: [bar, disc, square]")
    assert find_yolo(root) == "other.yml"
    (root / "third.yml").write_text("val: images/train\nnames: [bar, disc, square]")
    with pytest.raises(UserError, match=r"has both other\.yml and third\.yml"):
        read(root)
    (root / "third.yml").unlink()
    (root / "labels" / "train" / "t000.txt").write_bytes(b"\xff")
    with pytest.raises(UserError, match="cannot be read"):
        read(root)
    monkeypatch.setattr(yolo, "MOST_BYTES", 5)
    assert find_yolo(root) is None
