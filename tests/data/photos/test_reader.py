"""A folder's photographs are read as they lie there."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.multilabel import make_labelled
from tests.photographs import make_photos

from reslab.data.photos.folder import PhotoSplit, read_folder
from reslab.data.photos.label_list import MultiLabelDataset
from reslab.data.photos.reader import read_photos
from reslab.data.photos.shard_writer import write_shards
from reslab.data.photos.shards import ShardSplit
from reslab.errors import UserError


def test_files_shards_and_lists_are_told_apart(tmp_path: Path) -> None:
    """A list comes first, then shards; what is neither is a folder of classes, or is refused as one."""
    photos = make_photos(tmp_path / "photos", train=4, val=2)
    write_shards(photos, tmp_path / "shards", size=10_000)
    assert type(read_photos(photos).train) is PhotoSplit
    assert isinstance(read_photos(tmp_path / "shards").train, ShardSplit)
    assert isinstance(read_photos(make_labelled(tmp_path / "listed")), MultiLabelDataset)
    with pytest.raises(UserError, match="there is no folder"):
        read_photos(tmp_path / "nowhere")


def test_the_seed_draws_what_is_held_out(tmp_path: Path) -> None:
    """As reading the folder itself does."""
    flat = make_photos(tmp_path / "photos", train=10) / "train"
    drawn = [read_photos(flat, seed=seed).test.files for seed in (0, 1)]
    assert drawn[0] != drawn[1]
    assert drawn == [read_folder(flat, seed=seed).test.files for seed in (0, 1)]
