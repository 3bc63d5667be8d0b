"""Photographs are told apart by their content, in files and in tars alike, where it is read in seconds."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.photographs import make_photos

from reslab.data.photos import digests
from reslab.data.photos.reader import read_photos
from reslab.data.photos.shard_writer import write_shards
from reslab.errors import UserError


def test_content_counts_and_not_the_name(tmp_path: Path) -> None:
    """A copy under another name has the same digest; shards have their files'."""
    split = read_photos(make_photos(tmp_path / "photos")).train
    found = split.digests()
    assert found is not None
    assert len(np.unique(found)) == len(split)
    first = hashlib.sha256(Path(str(split.path(0))).read_bytes()).digest()
    assert found[0] == np.frombuffer(first[:8], np.int64)[0]
    write_shards(tmp_path / "photos", tmp_path / "shards", size=20_000)
    assert np.array_equal(read_photos(tmp_path / "shards").train.digests(), found)
    shutil.copy(str(split.path(0)), tmp_path / "photos" / "train" / "blues" / "zzz.jpg")
    assert len(np.unique(read_photos(tmp_path / "photos").train.digests())) == len(split)


def test_what_is_too_much_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As ImageNet is."""
    split = read_photos(make_photos(tmp_path / "photos")).train
    monkeypatch.setattr(digests, "CHEAP", sum(map(split.size, range(len(split)))) - 1)
    assert split.digests() is None


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    """With the remedy."""
    split = read_photos(make_photos(tmp_path / "photos")).train
    Path(str(split.path(0))).unlink()
    with pytest.raises(UserError, match=r"000\.jpg cannot be read: No such file or directory; replace it or remove it"):
        digests.digest_content(split.path(0))
