"""The photographs of a folder, however they lie there: on a list with their labels, in shards, or as files by class."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from reslab.data.photos.editions import CURRENT, Edition
from reslab.data.photos.folder import PhotoDataset, read_folder
from reslab.data.photos.label_list import find_list, read_labelled
from reslab.data.photos.shards import has_shards, read_shards
from reslab.spec.trial import DataSpec


def read_photos(root: Path, *, seed: int = 0, known: DataSpec | None = None) -> PhotoDataset:
    """Read them; `seed` draws what is held out where there is nothing to test on.

    `known` is what a trial says of its data: `seed` is then its, and what it was made of by an earlier edition is read
    so. Where no edition gives that, the folder has changed since, and is read as it is now.
    """
    now = _read(root, seed if known is None else known.held_out_seed, CURRENT)
    if known is None or known.fingerprint == now.fingerprint or not now.may_differ_before:
        return now
    earlier = read_as_before(root, seed=known.held_out_seed)
    return next((then for then in earlier if then.fingerprint == known.fingerprint), now)


def read_as_before(root: Path, *, seed: int) -> Iterator[PhotoDataset]:
    """Yield what earlier editions made of them, the newest first."""
    for edition in reversed(Edition):
        if edition is not CURRENT:
            yield _read(root, seed, edition)


def _read(root: Path, seed: int, edition: Edition) -> PhotoDataset:
    if find_list(root):
        return read_labelled(root, seed=seed, edition=edition)
    read = read_shards if has_shards(root) else read_folder
    return read(root, seed=seed, edition=edition)
