"""Folders become shards: whole, the same each time, readable by others."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

import pytest
from tests.photographs import make_photos

from reslab.data.photos import shard_writer as sharding
from reslab.data.photos.reader import read_photos
from reslab.data.photos.shard_writer import write_shards
from reslab.data.words import read_words, write_words
from reslab.errors import UserError


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    return make_photos(tmp_path / "photos", train=6, val=2)


def test_shards_hold_samples_one_after_the_other(photos: Path, tmp_path: Path) -> None:
    """An image and its label side by side, classes mixed, none larger than asked for; told beside them."""
    seen = []
    contents = write_shards(photos, tmp_path / "out", size=30_000, watch=lambda *told: seen.append(told))
    assert contents.class_names == ("blues", "greens")
    assert {
        path.name: path.stat().st_size for path in (tmp_path / "out").glob("*.tar")
    }.keys() == contents.images.keys()
    assert sum(contents.images.values()) == 16
    assert len(contents.images) > 2
    names = []
    for name, count in contents.images.items():
        with tarfile.open(tmp_path / "out" / name) as archive:
            inside = archive.getnames()
        assert len(inside) == 2 * count
        assert [name.removesuffix(".jpg") for name in inside[::2]] == [
            name.removesuffix(".cls") for name in inside[1::2]
        ]
        assert (tmp_path / "out" / name).stat().st_size <= 30_000 + tarfile.RECORDSIZE
        names += [name for name in inside if name.startswith("train") and name.endswith("jpg")]
    assert sorted(names) != names
    assert sorted(names) == [f"train/{label}/{number:03d}.jpg" for label in ("blues", "greens") for number in range(6)]
    assert seen[-1][0] == "shards"
    assert seen[-1][1] == seen[-1][2]


def test_the_same_photographs_give_the_same_bytes(photos: Path, tmp_path: Path) -> None:
    """Also from shards, which may be written again in another size; words come along."""
    write_words(photos, {"blues": "blue things"})
    for name, source in (("one", photos), ("two", photos), ("three", tmp_path / "one")):
        write_shards(source, tmp_path / name, size=10**9 if name != "three" else 20_000)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert all((tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes() for name in files)
    assert read_words(tmp_path / "three") == {"blues": "blue things"}
    assert read_photos(tmp_path / "three").fingerprint == read_photos(photos).fingerprint


def test_names_that_are_no_keys_are_kept_beside(photos: Path, tmp_path: Path) -> None:
    """Dots would end a key, and two suffixes would share one; the dataset is the same all the same."""
    blues = photos / "train" / "blues"
    for name in ("a.b.jpg", "a.c.jpg", "a_b.jpg", "a.jpg", "a.jpeg"):
        shutil.copy(blues / "000.jpg", blues / name)
    contents = write_shards(photos, tmp_path / "out", size=10**9)
    assert {"train/blues/a.b.jpg", "train/blues/a.c.jpg"} < set(contents.renamed.values())
    ours, theirs = read_photos(tmp_path / "out"), read_photos(photos)
    assert ours.train.files == theirs.train.files
    assert ours.fingerprint == theirs.fingerprint


def test_what_cannot_be_written_leaves_nothing(photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A place that is taken, or inside; a full disk; an image that goes meanwhile."""
    with pytest.raises(UserError, match="already exists; give a new folder"):
        write_shards(photos, photos, size=10**9)
    with pytest.raises(UserError, match="would be read as a class"):
        write_shards(photos, photos / "shards", size=10**9)
    real = sharding._add

    def lose(archive: tarfile.TarFile, name: str, content: bytes) -> None:
        shutil.rmtree(photos / "val", ignore_errors=True)
        real(archive, name, content)

    monkeypatch.setattr(sharding, "_add", lose)
    (photos / "labels.csv").write_text("image,labels\n")
    with pytest.raises(UserError, match=r"labels\.csv gives images several labels, but shards hold one per image"):
        write_shards(photos, tmp_path / "listed", size=10_000)
    (photos / "labels.csv").unlink()
    with pytest.raises(UserError, match=r"val/.*jpg cannot be read: No such file"):
        write_shards(photos, tmp_path / "out" / "shards", size=10**9)
    assert not list((tmp_path / "out").iterdir())
    monkeypatch.setattr(sharding, "ROOM", 10**12)
    with pytest.raises(
        UserError, match=r"of disk space, but .* are free; free some space or give a place on another disk"
    ):
        write_shards(make_photos(tmp_path / "others"), tmp_path / "out" / "shards", size=10**9)
