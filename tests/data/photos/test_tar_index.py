"""Shards are looked through once, and strictly."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from pathlib import Path

import pytest

from reslab.data.photos import tar_index as indexing
from reslab.data.photos.tar_index import index_shards, split_name
from reslab.errors import UserError

SHARD = "train-000000.tar"


def write(path: Path, members: dict[str, bytes]) -> Path:
    path.parent.mkdir(exist_ok=True)
    with tarfile.open(path, "w") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def test_images_and_labels_meet_by_their_keys(tmp_path: Path) -> None:
    """In any order, in folders, with other files beside them; a name ends at its first dot."""
    path = write(
        tmp_path / SHARD,
        {
            "./b/2.cls": b"1\n",
            "./b/2.jpg": b"two",
            "./b/2.json": b"{}",
            "1.seg.png": b"one",
            "1.cls": b"0",
            "._1.jpg": b"x",
        },
    )
    index = index_shards(tmp_path, [SHARD])
    assert index.names == ("b/2.jpg", "1.seg.png")
    assert index.labels.tolist() == [1, 0]
    content = path.read_bytes()
    assert [content[offset : offset + length] for _, offset, length in index.places.tolist()] == [b"two", b"one"]
    assert split_name("a.b/c.tar.gz") == ("a.b/c", ".tar.gz")
    assert split_name("README") is None


def test_the_index_is_kept_until_a_shard_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its size or its time; an index that is damaged, or cannot be kept, is made again."""
    path = write(tmp_path / SHARD, {os.fsdecode(b"\xe9.jpg"): b"one", os.fsdecode(b"\xe9.cls"): b"0"})
    looked = []
    real = indexing._read_shard
    monkeypatch.setattr(indexing, "_read_shard", lambda path: looked.append(path) or real(path))
    first, again = index_shards(tmp_path, [SHARD]), index_shards(tmp_path, [SHARD])
    assert looked == [path]
    assert first.names == again.names
    assert first.places.tolist() == again.places.tolist()
    os.utime(path, (1, 1))
    index_shards(tmp_path, [SHARD])
    assert len(looked) == 2
    (kept,) = (tmp_path / "root" / "indexes").iterdir()
    for number, damaged in enumerate((kept.read_bytes()[:-30], b""), start=3):
        kept.write_bytes(damaged)
        index_shards(tmp_path, [SHARD])
        assert len(looked) == number
    monkeypatch.setenv("RESLAB_DATA", "/dev/null")
    assert index_shards(tmp_path, [SHARD]).names == first.names


@pytest.mark.parametrize(
    ("members", "sentence"),
    [
        ({"1.jpg": b"one"}, r"000000\.tar/1\.jpg has no label; add 1\.cls with"),
        ({"1.cls": b"0"}, r"000000\.tar/1\.cls has no image beside it"),
        ({"1.jpg": b"one", "1.png": b"two", "1.cls": b"0"}, "has a second image with the key '1', 1.png; rename one"),
        ({"1.jpg": b"one", "./1.jpg": b"two", "1.cls": b"0"}, "has a second image with the key '1'"),
        ({"1.jpg": b"one", "1.cls": b"ant"}, r"1\.cls contains 'ant'; it must contain a class number"),
        ({"1.jpg": b"one", "1.cls": b"1" * 30}, r"1\.cls contains '1+'; it must contain a class number"),
        ({"1.jpg": b"one", "1.cls": b"-1"}, r"1\.cls contains '-1'; it must contain a class number"),
    ],
)
def test_samples_that_are_none_are_told(members: dict[str, bytes], sentence: str, tmp_path: Path) -> None:
    """Each by its shard and its name."""
    write(tmp_path / SHARD, members)
    with pytest.raises(UserError, match=sentence):
        index_shards(tmp_path, [SHARD])


def test_a_link_is_no_image(tmp_path: Path) -> None:
    """Its bytes lie elsewhere."""
    with tarfile.open(tmp_path / SHARD, "w") as archive:
        member = tarfile.TarInfo("1.jpg")
        member.type, member.linkname = tarfile.LNKTYPE, "0.jpg"
        archive.addfile(member)
    with pytest.raises(UserError, match=r"1\.jpg is not a regular file; write the shard again"):
        index_shards(tmp_path, [SHARD])


SAMPLES = {f"{number}.{kind}": b"0" * 700 if kind == "jpg" else b"0" for number in range(4) for kind in ("jpg", "cls")}
BLOCK = 512


@pytest.mark.parametrize("length", [0, 100, BLOCK * 2, BLOCK * 3, BLOCK * 5, BLOCK * 7 + 100, BLOCK * 20])
def test_a_shard_that_was_cut_is_told(length: int, tmp_path: Path) -> None:
    """Within a header, within an image, between two members, and just before the end mark."""
    path = write(tmp_path / SHARD, SAMPLES)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(UserError, match=r"000000\.tar is damaged or incomplete"):
        index_shards(tmp_path, [SHARD])


def test_a_shard_that_was_written_over_is_told(tmp_path: Path) -> None:
    """A header that is none does not pass for the end, nor does a second tar behind the first pass for nothing."""
    path = write(tmp_path / SHARD, SAMPLES)
    whole = path.read_bytes()
    path.write_bytes(whole[: 5 * BLOCK] + b"?" * 300 + whole[5 * BLOCK + 300 :])
    with pytest.raises(UserError, match="damaged or incomplete"):
        index_shards(tmp_path, [SHARD])
    path.write_bytes(whole + whole)
    with pytest.raises(UserError, match="damaged or incomplete"):
        index_shards(tmp_path, [SHARD])


def test_a_compressed_shard_is_told_by_its_content(tmp_path: Path) -> None:
    """Whatever it is called, with what unpacks it."""
    path = write(tmp_path / SHARD, SAMPLES)
    path.write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(
        UserError, match=r"is compressed, but images are read directly from the tar; decompress it with gunzip"
    ):
        index_shards(tmp_path, [SHARD])
