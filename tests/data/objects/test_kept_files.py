"""Annotations are parsed once, and again where a file has changed; what is kept reads as what was parsed."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.counting import count_calls
from tests.objects import make_scenes, write_coco, write_voc

from reslab.data.objects import coco, listed
from reslab.data.objects.dataset import read_objects
from reslab.data.objects.kept_files import KeptFiles, find_place, keep_files
from reslab.errors import UserError


def settle(path: Path, *, seconds: int = 60) -> Path:
    """Let a file, or all in a folder, be as old as this."""
    then = time.time() - seconds
    for each in (path, *path.rglob("*")):
        os.utime(each, (then, then))
    return path


def make_data(root: Path, layout: str) -> Path:
    sizes = ((60, 45), (45, 60))
    train, val = make_scenes("t", 6, sizes=sizes), make_scenes("v", 3, seed=4, sizes=sizes)
    return settle((write_voc if layout == "voc" else write_coco)(root / "data", train=train, val=val))


@pytest.mark.parametrize(
    ("layout", "module", "parse", "files"), [("voc", listed, "read_xml", 9), ("coco", coco, "_parse", 2)]
)
def test_annotations_are_parsed_once(
    layout: str, module: Any, parse: str, files: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second opening has the same rows to the bit; one changed file is parsed alone, others are forgotten."""
    root = make_data(tmp_path, layout)
    parsed = count_calls(monkeypatch, module, parse)
    first, second = read_objects(root), read_objects(root)
    assert len(parsed) == files
    assert first.fingerprint == second.fingerprint and first.train.files == second.train.files
    for one, other in ((first.train, second.train), (first.test, second.test)):
        assert np.array_equal(one.targets.rows, other.targets.rows)
    changed = next(path for path in sorted(root.rglob("*")) if path.suffix in (".xml", ".json"))
    text = changed.read_text()
    changed.write_text(text + "\n")
    settle(changed, seconds=30)
    assert read_objects(root).fingerprint == first.fingerprint
    assert len(parsed) == files + 1


@pytest.mark.parametrize("layout", ["voc", "coco"])
def test_what_is_wrong_is_told_again(layout: str, tmp_path: Path) -> None:
    """Each time the data are opened, though all else is kept."""
    root = make_data(tmp_path, layout)
    read_objects(root)
    place = next(path for path in sorted(root.rglob("*")) if path.suffix in (".xml", ".json"))
    place.write_text(place.read_text().replace("<xmin>", "<xmin>x").replace('"bbox": [', '"bbox": ["x", '))
    settle(place, seconds=30)
    told = []
    for _ in range(2):
        with pytest.raises(UserError) as caught:
            read_objects(root)
        told.append(str(caught.value))
    assert told[0] == told[1] and place.name in told[0]


def test_a_file_that_changed_just_now_is_not_kept(tmp_path: Path) -> None:
    """It may change again before its time does; nor is one that is not there."""
    (tmp_path / "new").write_text("1")
    settle_me = tmp_path / "old"
    settle_me.write_text("2")
    settle(settle_me)
    with keep_files(tmp_path) as kept:
        assert [kept.read(name, Path.read_text) for name in ("new", "old")] == ["1", "2"]
        with pytest.raises(FileNotFoundError):
            kept.read("gone", Path.read_text)
    assert KeptFiles(tmp_path).before.keys() == {"old"}


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"version": 0, "files": {"a": [[1, 1], 1]}}', '{"version": 1, "files"']
)
def test_what_cannot_be_used_is_read_anew(text: str, tmp_path: Path) -> None:
    """Torn, or another version's."""
    place = find_place(tmp_path, "objects.json")
    place.parent.mkdir(parents=True)
    place.write_text(text)
    assert KeptFiles(tmp_path).before == {}


def test_where_nothing_can_be_kept_data_are_read_all_the_same(tmp_path: Path, data_root: Path) -> None:
    """A data root that is a file, say."""
    root = make_data(tmp_path, "voc")
    data_root.write_text("")
    assert len(read_objects(root).train) == len(read_objects(root).train) == 6
