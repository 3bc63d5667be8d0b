"""Photographs in tar shards, as webdataset has them: ``train-000000.tar``, ``val-000000.tar``, uncompressed.

They are a dataset like a folder of files: images in the order of class and name, read from their places in any order.
How they are spread over shards changes nothing, so what `shard_writer` writes is the dataset it was given.
"""

import contextlib
import json
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from reslab.data.photos.editions import CURRENT, Edition
from reslab.data.photos.findings import Tell, refuse
from reslab.data.photos.folder import PhotoDataset, PhotoSplit, folder_name
from reslab.data.photos.image_files import LEAST_CLASSES, VAL_NAMES
from reslab.data.photos.members import Member
from reslab.data.photos.tar_index import Index, index_shards, tell_shard
from reslab.errors import UserError
from reslab.files import list_folder
from reslab.spec.codec import convert

FILE = "shards.json"
SHARD = re.compile(rf"(?:.*[-_.])?(train|{'|'.join(VAL_NAMES)})[-_.]?\d+\.tar(?:\.(gz|bz2|xz|zst))?")


@dataclass(frozen=True)
class Contents:
    """What `FILE` tells."""

    class_names: tuple[str, ...]  # by their labels
    images: dict[str, int]  # how many a shard has
    renamed: dict[str, str]  # members to files whose names no key can have


@dataclass(frozen=True)
class ShardSplit(PhotoSplit):
    """Members of shards; a row of `places` is the number of a shard, an offset and a length."""

    shards: tuple[str, ...]
    places: NDArray[np.int64]

    def path(self, index: int) -> Member:
        """Return where an image lies."""
        shard, offset, length = self.places[index].tolist()
        return Member(self.root / self.shards[shard], self.files[index], offset, length)

    def size(self, index: int) -> int:
        """Return an image's bytes."""
        return int(self.places[index, 2])

    def take(self, indices: slice | NDArray[np.int64]) -> Self:
        """Return the part of the split at `indices`."""
        return replace(super().take(indices), places=self.places[indices])


def has_shards(root: Path) -> bool:
    """Whether photographs lie in shards there; not where nothing can be listed, which reading a folder tells."""
    with contextlib.suppress(OSError), os.scandir(root) as entries:
        return any(SHARD.fullmatch(entry.name) for entry in entries)
    return False


def read_shards(root: Path, *, seed: int = 0, edition: Edition = CURRENT, tell: Tell = refuse) -> PhotoDataset:
    """Read the shards of a folder, but those that `tell` is told of and does not stop at.

    `seed` draws what is held out where there are none to test on.
    """
    kinds = _find_shards(root)
    shards = tuple(kinds)
    contents = _read_contents(root, shards)
    index = index_shards(root, shards, tell=tell)
    if contents is not None:
        _compare_counts(root, contents, shards, index, tell)
        index = replace(index, names=tuple(contents.renamed.get(name, name) for name in index.names))
    trained = np.array([kind == "train" for kind in kinds.values()])
    held_out = bool(trained.all())
    train, test = (_gather(root, shards, index, chosen) for chosen in (trained, ~trained))
    for split, use in ((train, "train"),) if held_out else ((train, "train"), (test, "test")):
        if not len(split):
            raise UserError(f"the {use} shards of {root} have no images; write them again")
    numbers = range(min(int(train.targets[-1]), len(train)) + 1)  # gaps are refused, so more is not needed
    names = contents.class_names if contents else tuple(map(str, numbers))
    _refuse_labels(root, names, train, test)
    if held_out:
        for name, count in zip(names, np.bincount(train.targets).tolist(), strict=True):
            if count < LEAST_CLASSES:
                one = f"class {name} of {root} has only one image"
                raise UserError(
                    f"{one}, so none can be held out for the test; add another image of it, or add val shards"
                )
        train, test = train.hold_out(seed=seed, edition=edition)
    return PhotoDataset(
        name=folder_name(root), root=root, class_names=names, train=train, test=test, held_out=held_out, edition=edition
    )


def _find_shards(root: Path) -> dict[str, str]:
    """Return the shards to use, each with its split."""
    found = {path.name: match for path in list_folder(root) if (match := SHARD.fullmatch(path.name))}
    for name, match in found.items():
        if match[2]:
            raise UserError(f"{root / name} is compressed, but images are read directly from the tar; decompress it")
    kinds = {match[1] for match in found.values()}
    if "train" not in kinds:
        raise UserError(f"{root} has no shards to train on; name them like train-000000.tar")
    if (root / "train").is_dir():
        raise UserError(f"{root} has both shards and a folder 'train'; move one of them elsewhere")
    used = ("train", *[kind for kind in VAL_NAMES if kind in kinds][:1])
    return {name: match[1] for name, match in found.items() if match[1] in used}


def _read_contents(root: Path, shards: tuple[str, ...]) -> Contents | None:
    """Read the file that describes the shards, if there is one, and refuse shards it does not list."""
    path = root / FILE
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        contents = Contents(
            convert(tuple[str, ...], told["class_names"], where="class_names"),
            {name: convert(int, count, where=f"images.{name}") for name, count in told["images"].items()},
            {name: convert(str, file, where=f"renamed.{name}") for name, file in told["renamed"].items()},
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError, AttributeError, UserError) as error:
        raise UserError(f"{path} cannot be read ({error}); write the shards again, or remove it") from error
    for shard in sorted(contents.images.keys() - set(shards)):
        raise UserError(f"{root / shard} is missing; fetch or write it again")
    for shard in sorted(set(shards) - contents.images.keys()):
        raise UserError(f"{root / shard} is not listed in {FILE}; move it elsewhere, or remove {FILE}")
    return contents


def _compare_counts(root: Path, contents: Contents, shards: tuple[str, ...], index: Index, tell: Tell) -> None:
    counts = np.bincount(index.places[:, 0], minlength=len(shards)).tolist()
    for shard, count in zip(shards, counts, strict=True):
        expected = contents.images[shard]
        if count != expected and shard not in index.left_out:
            found = f"{root / shard} has {count:,} images, but {FILE} lists {expected:,}"
            tell_shard(tell, root / shard, f"{found}; fetch or write it again, or remove {FILE}")


def _gather(root: Path, shards: tuple[str, ...], index: Index, chosen: NDArray[np.bool_]) -> ShardSplit:
    """Return the images of the chosen shards in the order a folder has them: by class, and by name."""
    (rows,) = np.nonzero(chosen[index.places[:, 0]])
    # Plain numbers, which Python compares the faster; shards tell members of one name apart.
    numbers = zip(index.labels[rows].tolist(), index.places[rows, 0].tolist(), rows.tolist(), strict=True)
    keys = sorted((label, index.names[row].split("/"), shard, row) for label, shard, row in numbers)
    order = np.array([row for *_, row in keys], np.int64)
    files = tuple(index.names[row] for row in order.tolist())
    return ShardSplit(root, files, index.labels[order], shards, index.places[order])


def _refuse_labels(root: Path, names: tuple[str, ...], train: ShardSplit, test: ShardSplit) -> None:
    if len(names) < LEAST_CLASSES:
        raise UserError(f"{root} has images of {len(names)} class; at least two classes are needed")
    trained = set(train.targets.tolist())
    for label, name in enumerate(names):
        if name in names[:label]:
            raise UserError(f"{root / FILE} gives two classes the name {name}; rename one of them")
        if label not in trained:
            raise UserError(
                f"{root} has no training images of class {name}; add some, or number the classes without gaps"
            )
    for split in (train, test):
        if len(split) and split.targets[-1] >= len(names):
            known = f"the {len(names):,} training classes are numbered from 0"
            raise UserError(f"{split.path(len(split) - 1)} has the label {split.targets[-1]}, but {known}; correct it")
