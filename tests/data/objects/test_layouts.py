"""Which layout a folder has, told by its files."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.multilabel import make_labelled
from tests.objects import make_scenes, write_coco, write_voc, write_yolo
from tests.photographs import make_photos

from reslab.data.objects.coco import read_coco
from reslab.data.objects.layouts import find_layout
from reslab.data.objects.voc import read_voc
from reslab.data.objects.yolo import read_yolo
from reslab.errors import UserError


def test_layouts_are_told_apart(tmp_path: Path) -> None:
    """Folders of classes, lists of labels and what is not there are none."""
    train, val = make_scenes("t", 2), make_scenes("v", 1)
    assert find_layout(write_voc(tmp_path / "voc", train=train, val=val)) is read_voc
    assert find_layout(write_coco(tmp_path / "coco", train=train, val=val)) is read_coco
    assert find_layout(write_yolo(tmp_path / "yolo", train=train, val=val)) is read_yolo
    for other in (
        make_photos(tmp_path / "photos", train=1, val=1),
        make_labelled(tmp_path / "listed"),
        tmp_path / "no",
    ):
        assert find_layout(other) is None


def test_a_folder_of_two_layouts_is_refused(tmp_path: Path) -> None:
    """With what each is known by; a list of labels is another."""
    write_voc(tmp_path, train=make_scenes("t", 2))
    (tmp_path / "labels.csv").write_text("image,labels\n")
    with pytest.raises(UserError, match=r"is both Pascal VOC \(Annotations\) and a list of labels \(labels\.csv\)"):
        find_layout(tmp_path)
    write_yolo(tmp_path, train=make_scenes("t", 2))
    with pytest.raises(UserError, match=r"is both Pascal VOC \(Annotations\) and YOLO \(data\.yaml\)"):
        find_layout(tmp_path)
