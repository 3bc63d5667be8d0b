"""A folder of photographs as a dataset: ``root/train/<class>/*`` and ``root/val/<class>/*``, or ``root/<class>/*``.

Without a val folder a part of every class is held out, drawn by a seed; a val folder alone is tested whole. A dataset
is known by its files' names and sizes, by what is in those whose size tells nothing, and by which of them are tested
on, not by where it lies.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reslab.data.photos.class_words import read_words
from reslab.data.photos.digests import digest_content, digest_contents
from reslab.data.photos.editions import CURRENT, Edition, needs_content, sort_classes
from reslab.data.photos.held_out import draw_by_name, draw_by_position
from reslab.data.photos.image_files import Trail, walk_images
from reslab.data.photos.members import Stored
from reslab.data.photos.pixels import read_pixels
from reslab.errors import UserError
from reslab.files import is_folder, list_folder
from reslab.runtime.listener import Listener
from reslab.runtime.processes import Processes
from reslab.spec.recipe import refuse_unheeded
from reslab.spec.task import Target
from reslab.spec.trial import DataSpec, SplitName, Trial

if TYPE_CHECKING:
    from reslab.data.photos.feed import PhotoFeed

VAL_NAMES = ("val", "valid", "validation", "test")
LEAST_CLASSES = 2
HEEDED = ("flip", "crop", "sides", "areas", "colour", "policy", "mixup", "cutmix")  # what is done to photographs


@dataclass(frozen=True)
class PhotoSplit:
    """Files, by their path under the dataset's root, and their targets."""

    root: Path
    files: tuple[str, ...]
    targets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.files)

    def path(self, index: int) -> Stored:
        """Return where an image lies."""
        return self.root / self.files[index]

    def name(self, index: int) -> str:
        """Return what an image is called: its path under the root."""
        return self.files[index]

    def read(self, index: int) -> Tensor:
        """Decode an image."""
        return torch.from_numpy(read_pixels(self.path(index))).permute(2, 0, 1)

    def block(self, part: slice) -> None:
        """Photographs have no size in common."""
        return

    def size(self, index: int) -> int:
        """Return an image's bytes."""
        return _size(self.root / self.files[index])

    def digests(self) -> NDArray[np.int64] | None:
        """Return what tells every image's content from any other, whatever its name; None where there is too much."""
        return digest_contents([self.path(index) for index in range(len(self))], map(self.size, range(len(self))))

    def identities(self) -> NDArray[np.str_]:
        """Return what tells images of a dataset apart, in whatever split they are: their names."""
        return np.array(self.files)

    def take(self, indices: slice | NDArray[np.int64]) -> PhotoSplit:
        """Return the part of the split at `indices`."""
        chosen = np.arange(len(self))[indices]
        return PhotoSplit(self.root, tuple(self.files[index] for index in chosen), self.targets[chosen])


@dataclass(frozen=True, kw_only=True)
class PhotoDataset:
    """A named folder of photographs. `held_out` says that its test images were drawn here, from the training images."""

    target: ClassVar[Target] = "class"
    has_files: ClassVar[bool] = True

    name: str
    root: Path
    class_names: tuple[str, ...]
    train: PhotoSplit
    test: PhotoSplit
    held_out: bool = False
    edition: Edition = CURRENT
    brightest: int = 255
    channels: int = 3  # whatever the files hold, it is decoded to RGB
    side: None = None  # they have none in common
    usual_recipe: str = "photos"

    @property
    def is_known_by_size(self) -> bool:
        """Whether its fingerprint takes other images for the same, where no file is longer or shorter."""
        return self.edition is Edition.FIRST and self._has_uncompressed()

    @property
    def may_differ_before(self) -> bool:
        """Whether an earlier edition may make something else of the same files."""
        return self.held_out or list(self.class_names) != sorted(self.class_names) or self._has_uncompressed()

    def _has_uncompressed(self) -> bool:
        return any(needs_content(file, CURRENT) for split in (self.train, self.test) for file in split.files)

    def divide(self, split: SplitName) -> tuple[PhotoSplit, PhotoSplit]:
        """Return what to train and test on."""
        if split != "full":
            raise UserError(
                f"data.split={split} is for datasets by name; {self.root} is tested on what it has for that"
            )
        return self.train, self.test

    @property
    def fingerprint(self) -> str:
        """SHA-256 over classes, and names, sizes and labels of the files of both splits."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        return self._take_fingerprint(b"", lambda label: f"{label}\n".encode())

    def read_words(self) -> Mapping[str, str]:
        """Return what classes are called in words, where the folder says it."""
        return read_words(self.root)

    def read_before(self, *, held_out_seed: int) -> Iterator[PhotoDataset]:
        """Yield what earlier editions made of the same files, where that may be something else."""
        from reslab.data.photos.reader import read_as_before

        if self.may_differ_before:
            yield from read_as_before(self.root, seed=held_out_seed)

    def find_trained(self, before: DataSpec) -> PhotoSplit | None:
        """Return the images that a training on `before` trained on; None where the folder is not what it was."""
        from reslab.data.photos.reader import read_photos

        then = self if self.fingerprint == before.fingerprint else read_photos(self.root, known=before)
        return then.train if then.fingerprint == before.fingerprint else None

    def refuse_trial(self, trial: Trial) -> None:
        """Refuse on photographs what is meant for images of one size, and to train on none."""
        if not len(self.train):
            raise UserError(f"{self.root} has images to test on and none to train on; add them as train/<class>/")
        if trial.recipe.augmentation.crop == "padded":
            raise UserError(
                "recipe.augmentation.crop is padded, which is for images of one size; "
                "choose shorter-side or resized, or recipe=photos"
            )
        refuse_unheeded(trial.recipe.augmentation, HEEDED, other="images of one size")
        if trial.data.split != "full":
            raise UserError(
                f"data.split is {trial.data.split}; a folder of photographs has its own val, or holds some out"
            )

    def list_packages(self, trial: Trial) -> Collection[str]:
        """Return the packages that make a trial's batches; torch resizes the crops."""
        policies = {"torchvision"} if trial.recipe.augmentation.policy != "none" else set[str]()
        return {"numpy", "pillow", "simplejpeg", "torch"} | policies

    def count_bytes(self, trial: Trial, *, device: str) -> int:
        """Photographs do not stay on a device."""
        return 0

    def make_feed(
        self, trial: Trial, *, device: torch.device | str, processes: Processes, folder: Path | None, listener: Listener
    ) -> PhotoFeed:
        """Return what decodes and crops a trial's batches; `folder` keeps the mean image and what was skipped."""
        from reslab.data.photos.feed import make_feed

        return make_feed(self, trial, device=device, processes=processes, folder=folder, listener=listener)

    def _take_fingerprint(self, kind: bytes, write_label: Callable[[NDArray[np.int64]], bytes]) -> str:
        digest = hashlib.sha256(kind)
        for name in self.class_names:
            digest.update(f"{name}\n".encode(errors="surrogateescape"))  # names need not be UTF-8
        for split in (self.train, self.test):
            for index, file in enumerate(split.files):
                digest.update(f"{file} {split.size(index)} ".encode(errors="surrogateescape"))
                if needs_content(file, self.edition):
                    digest.update(digest_content(split.path(index)))
                digest.update(write_label(split.targets[index]))
            digest.update(b"--\n")
        return digest.hexdigest()


def read_folder(root: Path, *, seed: int = 0, edition: Edition = CURRENT) -> PhotoDataset:
    """Read a folder of photographs; `seed` draws what is held out where there is nothing to test on."""
    _refuse_no_folder(root)
    if (alone := find_tests_alone(root)) is not None:
        return _read_tests(root, alone, edition=edition)
    train = root / "train" if (root / "train").is_dir() else root
    val = next((root / name for name in VAL_NAMES if train != root and (root / name).is_dir()), None)
    names = tuple(sort_classes((folder.name for folder in _folders(train, root)), edition))
    if len(names) < LEAST_CLASSES:
        found = f"{train} has {len(names) or 'no'} folder{'s' * (len(names) != 1)} of images"
        raise UserError(f"{found}, and two classes are needed at least; give each a folder")
    files = {name: list(walk_images(train / name, Trail([root, train]))) for name in names}
    for name, found in files.items():
        if not found:
            raise UserError(f"{train / name} has no images; fill it or remove it")
    if val is None:
        for found in files.values():
            if len(found) < LEAST_CLASSES:
                raise UserError(
                    f"{found[0].parent} has one image; two are needed to hold one out, or make a val folder"
                )
        whole = _gather(root, [files[name] for name in names])
        held = hold_out_by_class(whole, seed=seed, edition=edition)
        trained, tested = whole.take(np.flatnonzero(~held)), whole.take(np.flatnonzero(held))
    else:
        found = _read_val(val, root, names)
        trained, tested = (_gather(root, [split[name] for name in names]) for split in (files, found))
    return PhotoDataset(
        name=folder_name(root),
        root=root,
        class_names=names,
        train=trained,
        test=tested,
        held_out=val is None,
        edition=edition,
    )


def find_tests_alone(root: Path) -> Path | None:
    """Return the folder of images to test on, where a root has that and nothing else."""
    folders = [path for path in list_folder(root) if path.is_dir() and not path.name.startswith(".")]
    return folders[0] if len(folders) == 1 and folders[0].name in VAL_NAMES else None


def _read_tests(root: Path, val: Path, *, edition: Edition) -> PhotoDataset:
    """Read images to test on, of which none are held out and none trained on."""
    names = tuple(sort_classes((folder.name for folder in _folders(val, root)), edition))
    tested = _read_val(val, root, names)
    train, test = (_gather(root, [split.get(name, []) for name in names]) for split in ({}, tested))
    return PhotoDataset(name=folder_name(root), root=root, class_names=names, train=train, test=test, edition=edition)


def hold_out_by_class(split: PhotoSplit, *, seed: int, edition: Edition) -> NDArray[np.bool_]:
    """Return which images are held out; those of a class lie side by side, two of them at least."""
    held, first = np.zeros(len(split), bool), 0
    for label, count in enumerate(np.bincount(split.targets).tolist()):
        if edition is Edition.FIRST:
            held[first : first + count] = draw_by_position(count, seed=seed, stream=label)
        else:
            held[first : first + count] = draw_by_name(split.files[first : first + count], seed=seed)
        first += count
    return held


def folder_name(root: Path) -> str:
    """Return what a dataset is called, after its folder."""
    return re.sub(r"[^\w.-]+", "-", root.resolve().name) or "photos"


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
