"""COCO: boxes between edges, gaps between numbers, crowds and areas; what is wrong is told by the annotation's id."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.objects import CLASSES, describe_coco, draw, listen, make_scenes, write_coco

from reslab.data.objects import coco
from reslab.data.objects.annotations import Annotations, Teller
from reslab.data.objects.coco import find_coco, read_coco, read_ids
from reslab.data.photos.findings import refuse
from reslab.errors import UserError
from reslab.spec.boxes import CROWD, PLAIN

Change = Callable[[dict[str, Any]], object]


def read(root: Path) -> Annotations:
    return read_coco(root, Teller(root, refuse))


def change(root: Path, how: Change, *, split: str = "train") -> None:
    place = root / "annotations" / f"instances_{split}2017.json"
    told = json.loads(place.read_text())
    how(told)
    place.write_text(json.dumps(told))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_coco(tmp_path / "coco", train=make_scenes("t", 4), val=make_scenes("v", 2))


def test_objects_are_read(root: Path) -> None:
    """With their areas, or none, and crowds; those without a mark are ordinary."""
    found = read(root)
    scene, image = make_scenes("t", 4)[1], found.splits["train"][1]
    assert [(thing.name, *thing[1:5]) for thing in image.things] == list(scene.boxes)
    assert (found.classes, image.size, image.file) == (CLASSES, scene.size, "train2017/t001.jpg")
    _, left, top, right, bottom = scene.boxes[0]
    assert (image.things[0].area, image.things[0].mark) == ((right - left) * (bottom - top) / 2, PLAIN)
    assert found.write(image.things[0], (60, 45)) == (
        f"annotation 101 ({image.things[0].name}): bbox {left}, {top}, {right - left}, {bottom - top}"
    )
    assert [len(images) for images in found.splits.values()] == [4, 2]
    assert find_coco(root) == "annotations/instances_train2017.json"
    change(root, lambda told: [told["annotations"][1].pop(name) for name in ("area", "iscrowd", "id")])
    change(root, lambda told: told["annotations"][2].update(iscrowd=1))
    first, second = read(root).splits["train"][1].things
    assert (first.area, first.mark, first.number, second.mark) == (None, PLAIN, 2, CROWD)


def test_images_lie_in_folders_of_many_names(root: Path) -> None:
    """Beside the annotations' folder or in images/, with the year or without; or where their names lead."""
    (root / "images").mkdir()
    (root / "train2017").rename(root / "images" / "train2017")
    assert read(root).splits["train"][0].file == "images/train2017/t000.jpg"
    (root / "images" / "train2017").rename(root / "train")
    assert read(root).splits["train"][0].file == "train/t000.jpg"
    (root / "train").rename(root / "elsewhere")
    with pytest.raises(UserError, match="there is no such image"):
        read(root)
    change(root, lambda told: [each.update(file_name=f"elsewhere/{each['file_name']}") for each in told["images"]])
    assert read(root).splits["train"][0].file == "elsewhere/t000.jpg"
    change(root, lambda told: told["images"][0].update(file_name="../coco/elsewhere/t000.jpg"))
    with pytest.raises(UserError, match="there is no such image"):
        read(root)


def test_roboflow_keeps_annotations_beside_images(tmp_path: Path) -> None:
    """Its first category is only the parent of the others, and no class; alone, a folder is not divided."""
    for split, scenes in (
        ("train", make_scenes("t", 2)),
        ("valid", make_scenes("v", 1)),
        ("test", make_scenes("x", 1)),
    ):
        told = describe_coco(scenes)
        for category in told["categories"]:
            category["supercategory"] = "shapes"
        told["categories"].insert(0, {"id": 0, "name": "shapes", "supercategory": "none"})
        for scene in scenes:
            draw(scene, tmp_path / split / f"{scene.name}.jpg")
        (tmp_path / split / "_annotations.coco.json").write_text(json.dumps(told))
    found = read(tmp_path)
    assert found.classes == CLASSES
    assert {split: [image.file for image in images] for split, images in found.splits.items()} == {
        "train": ["train/t000.jpg", "train/t001.jpg"],
        "val": ["valid/v000.jpg"],
    }
    assert [image.file for image in read(tmp_path / "test").splits[""]] == ["x000.jpg"]


def test_one_file_alone_is_trained_or_tested_on(root: Path) -> None:
    """Training images are divided later; val alone is for tests. Two years at once are refused."""
    (root / "annotations" / "instances_val2017.json").rename(root / "annotations" / "instances_train2014.json")
    with pytest.raises(UserError, match=r"has both .*2014\.json and .*2017\.json"):
        read(root)
    (root / "annotations" / "instances_train2014.json").unlink()
    assert list(read(root).splits) == [""]
    (root / "annotations" / "instances_train2017.json").rename(root / "annotations" / "val.json")
    (root / "train2017").rename(root / "val")
    assert list(read(root).splits) == ["val"]


def test_files_that_are_none_are_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By their size before they are read; or by what they lack."""
    lacking: list[tuple[Change, str]] = [
        (lambda told: told.pop("annotations"), "has no list 'annotations'"),
        (lambda told: told["categories"].clear(), "has no categories"),
        (lambda told: told["categories"].append({"id": 1, "name": "new"}), "two categories with the id 1"),
        (lambda told: told["categories"].append({"id": "x"}), "has a category"),
        (lambda told: told["images"].append({"id": 0, "file_name": "a.jpg"}), "two images with the id 0"),
        (lambda told: told["images"].append({"id": 9}), "has an image"),
    ]
    place = root / "annotations" / "instances_train2017.json"
    whole = place.read_text()
    for how, told in lacking:
        change(root, how)
        with pytest.raises(UserError, match=told):
            read(root)
        place.write_text(whole)
    for content in (whole[:-1], "[" * 100_000, "[]"):
        place.write_text(content)
        with pytest.raises(UserError, match=r"is not JSON that can be read|has no list"):
            read(root)
    place.write_text(whole)
    monkeypatch.setattr(coco, "MOST_BYTES", 10)
    with pytest.raises(UserError, match="are more than the"):
        read(root)


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("category_id", 2, "annotation 100 has the category_id 2, which no category has"),
        ("category_id", None, "annotation 100 has the category_id None"),
        ("image_id", 77, "annotation 100 has the image_id 77, which no image has"),
        ("image_id", [1], "annotation 100 has the image_id"),
        ("bbox", [1, 2, 3], r"annotation 100 \(bar\) has the bbox \[1, 2, 3\]"),
        ("bbox", [1, 2, 3, "4"], "has the bbox"),
        ("bbox", [1, 2, 3, 10**400], "has the bbox"),
        ("area", "large", "has the area 'large'"),
    ],
)
def test_wrong_annotations_are_told_by_their_id(root: Path, field: str, value: object, told: str) -> None:
    """With the value; the rest is read where that does not stop."""
    change(root, lambda all_of_it: all_of_it["annotations"][0].update({field: value}))
    with pytest.raises(UserError, match=told):
        read(root)
    heard, tell = listen()
    found = read_coco(root, Teller(root, tell))
    assert [kind for kind, *_ in heard] == ["unknown class" if value == 2 else "wrong annotation"]
    assert [len(image.things) for image in found.splits["train"]] == [0, 2, 3, 1]


def test_images_that_are_there_twice_are_used_once(root: Path) -> None:
    """With other numbers, and the same file."""
    change(root, lambda told: told["images"].append({"id": 9, "file_name": "t000.jpg"}))
    heard, tell = listen()
    found = read_coco(root, Teller(root, tell))
    assert heard == [("listed twice", "annotations/instances_train2017.json, t000.jpg", False)]
    assert len(found.splits["train"]) == 4


def test_ids_alone(root: Path) -> None:
    """Of all images that are there, by their place, and of the categories; other folders have none."""
    ids = read_ids(root)
    assert ids.categories == {"bar": 1, "disc": 4, "square": 7}
    assert ids.images[(root / "val2017" / "v001.jpg").resolve()] == 1
    assert len(ids.images) == 6
    (root / "train2017" / "t000.jpg").unlink()
    assert len(read_ids(root).images) == 5
    change(root, lambda told: told.pop("images"))
    with pytest.raises(UserError, match="has no list 'images'"):
        read_ids(root)
    with pytest.raises(UserError, match="has no annotations of COCO's, so no ids"):
        read_ids(root / "train2017")
