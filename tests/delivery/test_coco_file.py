"""COCO's results of predictions, with ids of our own and of annotations."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

import pytest
from tests.objects import CLASSES, make_scenes, write_coco

from reslab.data.objects.coco import read_ids
from reslab.delivery.coco_file import name_listing, refuse_foreign_results
from reslab.delivery.coco_file import write_coco as write_results
from reslab.delivery.prediction import FoundObject, Prediction
from reslab.errors import UserError

FOUND = (FoundObject("square", 0.75, (1.5, 2.0, 11.5, 22.0)), FoundObject("bar", 0.25, (0.0, 0.0, 4.0, 5.0)))


def test_images_and_classes_are_numbered(tmp_path: Path) -> None:
    """From 1, in their order; the listing says which is which, in COCO's own form."""
    predictions = [Prediction("a.jpg", objects=(), size=(30, 40)), Prediction("b.jpg", objects=FOUND, size=(50, 60))]
    write_results(predictions, tmp_path / "out" / "r.json", class_names=CLASSES)
    assert json.loads((tmp_path / "out" / "r.json").read_text()) == [
        {"image_id": 2, "category_id": 3, "bbox": [1.5, 2.0, 10.0, 20.0], "score": 0.75},
        {"image_id": 2, "category_id": 1, "bbox": [0.0, 0.0, 4.0, 5.0], "score": 0.25},
    ]
    listing = json.loads((tmp_path / "out" / "r-images.json").read_text())
    assert listing["images"] == [
        {"id": 1, "file_name": "a.jpg", "width": 30, "height": 40},
        {"id": 2, "file_name": "b.jpg", "width": 50, "height": 60},
    ]
    assert listing["categories"] == [{"id": number + 1, "name": name} for number, name in enumerate(CLASSES)]


def test_the_tools_of_coco_read_both(tmp_path: Path) -> None:
    """The listing says to them what the results are about."""
    tools = pytest.importorskip("pycocotools.coco")
    write_results([Prediction("b.jpg", objects=FOUND, size=(50, 60))], tmp_path / "r.json", class_names=CLASSES)
    with contextlib.redirect_stdout(io.StringIO()):
        loaded = tools.COCO(str(tmp_path / "r-images.json")).loadRes(str(tmp_path / "r.json"))
    assert [loaded.cats[one["category_id"]]["name"] for one in loaded.anns.values()] == ["square", "bar"]
    assert [one["area"] for one in loaded.anns.values()] == [200.0, 20.0]


def test_ids_of_annotations(tmp_path: Path) -> None:
    """Those of the image's file and of the category's name, whatever path leads there."""
    root = write_coco(tmp_path / "coco", train=make_scenes("t", 2), val=make_scenes("v", 3))
    ids = read_ids(root)
    image = str(tmp_path / "coco" / "annotations" / ".." / "val2017" / "v002.jpg")
    write_results([Prediction(image, objects=FOUND, size=(60, 45))], tmp_path / "r.json", class_names=CLASSES, ids=ids)
    entries = json.loads((tmp_path / "r.json").read_text())
    assert [(entry["image_id"], entry["category_id"]) for entry in entries] == [(2, 7), (2, 1)]
    both = [Prediction(str(root / f"{split}2017" / f"{split[0]}000.jpg"), objects=()) for split in ("train", "val")]
    with pytest.raises(UserError, match="both have the id 0; predict them in separate commands"):
        write_results(both, tmp_path / "r.json", class_names=CLASSES, ids=ids)
    with pytest.raises(UserError, match=r"x.jpg is not in the annotations of .*coco; leave it out"):
        write_results([Prediction("x.jpg", objects=())], tmp_path / "r.json", class_names=CLASSES, ids=ids)
    with pytest.raises(UserError, match="has no category 'cat', which the detector knows"):
        write_results([], tmp_path / "r.json", class_names=("cat",), ids=ids)


def test_only_our_own_results_are_replaced(tmp_path: Path) -> None:
    """They are known by their listing, which others' do not have."""
    path = tmp_path / "r.json"
    for _ in range(2):
        refuse_foreign_results(path)
        write_results([], path, class_names=CLASSES)
    name_listing(path).unlink()
    with pytest.raises(UserError, match=r"r\.json exists, and reslab did not write it; name another file"):
        refuse_foreign_results(path)
    name_listing(path).write_text("{}")
    with pytest.raises(UserError, match=r"r-images\.json exists, and reslab did not write it"):
        refuse_foreign_results(path)
