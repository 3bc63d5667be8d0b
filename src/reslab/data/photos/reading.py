"""The photographs of a folder, however they lie there: on a list with their labels, in shards, or as files by class."""

from __future__ import annotations

from pathlib import Path

from reslab.data.photos.folder import PhotoDataset, read_folder
from reslab.data.photos.labels import find_list, read_labelled
from reslab.data.photos.shards import has_shards, read_shards


def read_photos(root: Path, *, seed: int = 0) -> PhotoDataset:
    """Read them; `seed` draws what is held out where there is nothing to test on."""
    if find_list(root):
        return read_labelled(root, seed=seed)
    return read_shards(root, seed=seed) if has_shards(root) else read_folder(root, seed=seed)
