"""A folder of photographs as a dataset: ``root/train/<class>/*`` and ``root/val/<class>/*``, or ``root/<class>/*``.

Without a val folder a part of every class is held out, drawn by a seed. A dataset is known by its files' names and
sizes and by which of them are tested on, not by where it lies.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from reslab.data.photos.members import Stored
from reslab.data.photos.walking import Trail, walk_images
from reslab.data.randomness import numbers_for
from reslab.errors import UserError
from reslab.files import is_folder, list_folder
from reslab.spec.trial import TaskName

VAL_NAMES = ("val", "valid", "validation", "test")
HELD_OUT = 0.2
LEAST_CLASSES = 2


@dataclass(frozen=True)
class PhotoSplit:
    """Files, by their path under the dataset's root, and their labels."""

    root: Path
    files: tuple[str, ...]
    labels: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.files)

    def path(self, index: int) -> Stored:
        """Return where an image lies."""
        return self.root / self.files[index]

    def size(self, index: int) -> int:
        """Return an image's bytes."""
        return _size(self.root / self.files[index])

    def take(self, indices: slice | NDArray[np.int64]) -> PhotoSplit:
        """Return the part of the split at `indices`."""
        chosen = np.arange(len(self))[indices]
        return PhotoSplit(self.root, tuple(self.files[index] for index in chosen), self.labels[chosen])


@dataclass(frozen=True, kw_only=True)
class PhotoDataset:
    """A named folder of photographs. `held_out` says that its test images were drawn here, from the training images."""

    task: ClassVar[TaskName] = "classification"
    brightest: ClassVar[int] = 255

    name: str
    root: Path
    class_names: tuple[str, ...]
    train: PhotoSplit
    test: PhotoSplit
    held_out: bool = False

    @property
    def channels(self) -> int:
        """Whatever the files hold, it is decoded to RGB."""
        return 3

    @property
    def side(self) -> None:
        """Photographs have none in common."""
        return

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over classes, and names, sizes and labels of the files of both splits."""
        digest = hashlib.sha256()
        for name in self.class_names:
            digest.update(f"{name}\n".encode(errors="surrogateescape"))  # names need not be UTF-8
        for split in (self.train, self.test):
            for index, file in enumerate(split.files):
                line = f"{file} {split.size(index)} {split.labels[index]}\n"
                digest.update(line.encode(errors="surrogateescape"))
            digest.update(b"--\n")
        return digest.hexdigest()


def read_folder(root: Path, *, seed: int = 0) -> PhotoDataset:
    """Read a folder of photographs; `seed` draws what is held out where there is nothing to test on."""
    _refuse_no_folder(root)
    train = root / "train" if (root / "train").is_dir() else root
    val = next((root / name for name in VAL_NAMES if train != root and (root / name).is_dir()), None)
    names = tuple(folder.name for folder in _folders(train, root))
    if len(names) < LEAST_CLASSES:
        found = f"{train} has {len(names) or 'no'} folder{'s' * (len(names) != 1)} of images"
        raise UserError(f"{found}, and two classes are needed at least; give each a folder")
    files = {name: list(walk_images(train / name, Trail([root, train]))) for name in names}
    for name, found in files.items():
        if not found:
            raise UserError(f"{train / name} has no images; fill it or remove it")
    if val is None:
        tested = {name: _draw(found, seed=seed, stream=number) for number, (name, found) in enumerate(files.items())}
        files = {name: [file for file in found if file not in tested[name]] for name, found in files.items()}
    else:
        tested = _read_val(val, root, names)
    return PhotoDataset(
        name=folder_name(root),
        root=root,
        class_names=names,
        train=_gather(root, [files[name] for name in names]),
        test=_gather(root, [sorted(tested[name]) for name in names]),
        held_out=val is None,
    )


def folder_name(root: Path) -> str:
    """Return what a dataset is called, after its folder."""
    return re.sub(r"[^\w.-]+", "-", root.resolve().name) or "photos"


def draw_held_out(count: int, *, seed: int, stream: int) -> NDArray[np.int64]:
    """Return which of a class's images are held out: a fifth of them, one at least.

    `stream` is the class's number. That it numbers streams of training too does no harm: these are drawn once.
    """
    if seed < 0:
        raise UserError(f"data.held_out_seed is {seed}; give a whole number of 0 or more")
    order = numbers_for(stream, seed=seed).permutation(count)
    return order[: max(1, round(HELD_OUT * count))]


def _refuse_no_folder(root: Path) -> None:
    if not is_folder(root):
        raise UserError(f"there is no folder {root}; give one that has train/<class>/ and val/<class>/, or <class>/")
    list_folder(root)


def _read_val(val: Path, root: Path, names: Sequence[str]) -> dict[str, list[Path]]:
    strange = [folder.name for folder in _folders(val, root) if folder.name not in names]
    if strange:
        raise UserError(f"{val / strange[0]} is a class nothing is trained on; add it to train, or remove it")
    tested = {
        name: list(walk_images(val / name, Trail([root, val]))) if (val / name).is_dir() else [] for name in names
    }
    if not any(tested.values()):
        raise UserError(f"{val} has no images; fill it, or remove it to have a part of train held out")
    return tested


def _draw(files: list[Path], *, seed: int, stream: int) -> set[Path]:
    """Return what is held out of a class."""
    if len(files) < LEAST_CLASSES:
        raise UserError(f"{files[0].parent} has one image; two are needed to hold one out, or make a val folder")
    return {files[index] for index in draw_held_out(len(files), seed=seed, stream=stream)}


def _folders(parent: Path, root: Path) -> list[Path]:
    """Return the folders of classes; a link back to what they are in is none."""
    shown = [path for path in list_folder(parent) if path.is_dir() and not path.name.startswith(".")]
    return [path for path in shown if Trail([root, parent]).is_new(path)]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}; replace it or remove it") from error


def _gather(root: Path, by_class: Sequence[Sequence[Path]]) -> PhotoSplit:
    files = tuple(path.relative_to(root).as_posix() for found in by_class for path in found)
    labels = np.repeat(np.arange(len(by_class), dtype=np.int64), [len(found) for found in by_class])
    return PhotoSplit(root, files, labels)
