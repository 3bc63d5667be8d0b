"""A folder is read as the trial that knows it had it, by whichever version that was made."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from reslab.data.catalogue import open_data
from reslab.data.photos.editions import CURRENT, HELD_OUT, Edition, draw_held_out, needs_content, sort_classes
from reslab.data.photos.folder import read_folder
from reslab.data.photos.shard_writer import write_shards
from reslab.errors import UserError
from reslab.spec.trial import DataSpec

# As the version before had them, of the folders below: by class, and on a list.
BEFORE = {
    "classes": "efce2968ee7e081710e1488b37765bf0ca4ef118729bea2cf0f04b354d0e0168",
    "listed": "35d53fdceb687bdf52f71be7f5e3656d9ca9a8bfbb9ccd8457a5a4c10ff41e12",
}

FILES = [f"ant/{number}.jpg" for number in range(5000)]


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


def draw(
    files: list[str], *, seed: int, labels: NDArray[np.int64] | None = None, edition: Edition = CURRENT
) -> NDArray[np.bool_]:
    """Draw from one class, unless there are rows of labels."""
    targets = np.zeros(len(files), np.int64) if labels is None else labels
    return draw_held_out(files, targets, seed=seed, edition=edition)


def test_about_a_fifth_is_drawn_by_name_and_seed() -> None:
    """Within four standard deviations, another fifth by another seed, and as here for ever."""
    held = draw(FILES, seed=0)
    assert abs(held.mean() - HELD_OUT) < 4 * (HELD_OUT * (1 - HELD_OUT) / len(FILES)) ** 0.5
    other = draw(FILES, seed=1)
    assert abs((held & other).mean() - HELD_OUT**2) < 0.012
    assert np.flatnonzero(held)[:6].tolist() == [1, 6, 8, 13, 18, 20]


def test_the_others_decide_nothing() -> None:
    """Any part of the images, in any order, is divided as all of them are."""
    held = draw(FILES, seed=2)
    chosen = np.random.default_rng(0).permutation(len(FILES))[:300]
    assert np.array_equal(draw([FILES[index] for index in chosen], seed=2), held[chosen])


@pytest.mark.parametrize("seed", range(20))
def test_a_small_class_is_on_both_sides(seed: int) -> None:
    """Two images are one and one."""
    assert draw(FILES[:2], seed=seed).sum() == 1
    assert 1 <= draw(FILES[:4], seed=seed).sum() <= 3


@pytest.mark.parametrize("seed", range(20))
def test_every_label_is_trained_on_and_tested_on_where_it_can_be(seed: int) -> None:
    """The only image of a class is trained on; two are one and one, whatever other labels they have."""
    labels = np.random.default_rng(seed).integers(0, 2, (30, 5))
    labels[:, 3], labels[:, 4] = 0, 0
    labels[:2, 3], labels[7, 4] = 1, 1
    held = draw(FILES[:30], seed=seed, labels=labels)
    assert labels[~held].sum(0).all()
    assert labels[held].sum(0)[:4].all()
    assert labels[held].sum(0)[3:].tolist() == [1, 0]


def test_what_was_drawn_before_stays() -> None:
    """Runs of then are read so: the numbers are theirs."""
    assert np.flatnonzero(draw(FILES[:20], seed=0, edition=Edition.FIRST)).tolist() == [6, 8, 14, 19]
    labels = np.random.default_rng(0).integers(0, 2, (20, 3))
    assert np.flatnonzero(draw(FILES[:20], seed=1, labels=labels, edition=Edition.FIRST)).tolist() == [0, 1, 4]


@pytest.mark.parametrize("edition", Edition)
@pytest.mark.parametrize("labels", [None, np.ones((4, 1), np.int64)])
def test_a_seed_is_a_whole_number(labels: NDArray[np.int64] | None, edition: Edition) -> None:
    """Of 0 or more, in every draw."""
    with pytest.raises(UserError, match=r"data\.held_out_seed is -1; give a whole number of 0 or more"):
        draw(FILES[:4], seed=-1, labels=labels, edition=edition)
