"""A folder is read as the trial that knows it had it, by whichever version that was made."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from reslab.data.catalogue import open_data
from reslab.data.photos.editions import CURRENT, Edition, needs_content, sort_classes
from reslab.data.photos.folder import read_folder
from reslab.data.photos.shard_writer import write_shards
from reslab.spec.trial import DataSpec

# As the version before had them, of the folders below: by class, and on a list.
BEFORE = {
    "classes": "efce2968ee7e081710e1488b37765bf0ca4ef118729bea2cf0f04b354d0e0168",
    "listed": "35d53fdceb687bdf52f71be7f5e3656d9ca9a8bfbb9ccd8457a5a4c10ff41e12",
}


@pytest.fixture
def classes(tmp_path: Path) -> Path:
    for name in range(12):
        (tmp_path / "photos" / str(name)).mkdir(parents=True)
        for number in range(5):
            (tmp_path / "photos" / str(name) / f"{number}.bmp").write_bytes(bytes(10 + number))
    return tmp_path / "photos"


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    (tmp_path / "listed").mkdir()
    for number in range(30):
        (tmp_path / "listed" / f"{number}.jpg").write_bytes(bytes(10 + number))
    rows = [f"{number}.jpg,{number % 11};{number % 3}" for number in range(30)]
    (tmp_path / "listed" / "labels.csv").write_text("\n".join(["image,labels", *rows]))
    return tmp_path / "listed"


@pytest.mark.parametrize("kind", BEFORE)
def test_a_run_of_before_reads_its_data_as_it_was(kind: str, request: pytest.FixtureRequest) -> None:
    """What it held out, and the order of its classes; nobody else does."""
    root = request.getfixturevalue(kind)
    known = DataSpec(name=root.name, fingerprint=BEFORE[kind], held_out_seed=3)
    then, now = open_data(str(root), known=known), open_data(str(root), held_out_seed=3)
    assert then.fingerprint == BEFORE[kind] != now.fingerprint
    assert then.class_names[:3] == ("0", "1", "10")
    assert now.class_names[:3] == ("0", "1", "2")
    assert then.test.files != now.test.files


def test_shards_are_the_folder_in_every_edition(classes: Path, tmp_path: Path) -> None:
    """To a run of now as to one of before, whose shards have their classes in their own order."""
    write_shards(classes, tmp_path / "out" / "photos", size=10_000)
    now = read_folder(classes, seed=3)
    shards = open_data(str(tmp_path / "out" / "photos"), held_out_seed=3)
    assert (shards.test.files, shards.fingerprint) == (now.test.files, now.fingerprint)


def test_a_changed_folder_is_read_as_it_is_now(classes: Path) -> None:
    """No edition gives what the trial knew."""
    known = DataSpec(name="photos", fingerprint=BEFORE["classes"], held_out_seed=3)
    shutil.rmtree(classes / "3")
    assert open_data(str(classes), known=known).fingerprint == read_folder(classes, seed=3).fingerprint


def test_the_order_of_classes() -> None:
    """Numbers by number, equal ones by name; other names as text; in the first edition all as text."""
    assert sort_classes(["10", "9", "009", "1"], CURRENT) == ["1", "009", "9", "10"]
    assert sort_classes(["10", "9", "x"], CURRENT) == ["10", "9", "x"]
    assert sort_classes(["10", "9"], Edition.FIRST) == ["10", "9"]


def test_what_a_size_does_not_tell() -> None:
    """Files without compression; the first edition went by size alone."""
    assert needs_content("a/b.BMP", CURRENT)
    assert not needs_content("a/b.jpg", CURRENT)
    assert not needs_content("a/b.bmp", Edition.FIRST)
