"""A folder of photographs as a dataset: ``root/train/<class>/*`` and ``root/val/<class>/*``, or ``root/<class>/*``.

Without a val folder a part of every class is held out, drawn by a seed; a val folder alone is tested whole. A dataset
is known by its files' names and sizes, by what is in those whose size tells nothing, and by which of them are tested
on, not by where it lies.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reslab.data.photos.editions import CURRENT, Edition, draw_held_out, needs_content, sort_classes
from reslab.data.photos.image_files import VAL_NAMES, find_photos
from reslab.data.photos.members import Stored, digest_content, reading
from reslab.data.photos.pixels import read_pixels
from reslab.data.words import read_words
from reslab.errors import UserError
from reslab.runtime.listener import Listener
from reslab.runtime.processes import Processes
from reslab.spec.augmentation import refuse_unheeded
from reslab.spec.task_spec import Target
from reslab.spec.trial import DataSpec, SplitName, Trial

if TYPE_CHECKING:
    from reslab.data.photos.feed import PhotoFeed

CHEAP = 4 * 2**30  # bytes that are read in seconds; ImageNet's are not
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
        path = self.root / self.files[index]
        with reading(path, remedy="replace it or remove it"):
            return path.stat().st_size

    def digests(self) -> NDArray[np.int64] | None:
        """Return 64 bits of a digest of every image's content, whatever its name; None where there is too much."""
        if sum(map(self.size, range(len(self)))) > CHEAP:
            return None
        with ThreadPoolExecutor(os.cpu_count()) as pool:  # reading and hashing let Python's lock go
            digests = pool.map(digest_content, map(self.path, range(len(self))))
            return np.frombuffer(b"".join(digest[:8] for digest in digests), np.int64)

    def identities(self) -> NDArray[np.str_]:
        """Return what tells images of a dataset apart, in whatever split they are: their names."""
        return np.array(self.files)

    def take(self, indices: slice | NDArray[np.int64]) -> Self:
        """Return the part of the split at `indices`."""
        chosen = np.arange(len(self))[indices]
        return replace(self, files=tuple(self.files[index] for index in chosen), targets=self.targets[chosen])

    def classes_of(self, index: int) -> NDArray[np.int64]:
        """Return the numbers of the classes that an image is of."""
        target = np.asarray(self.targets[index])
        return np.flatnonzero(target) if target.ndim else target[None]

    def hold_out(self, *, seed: int, edition: Edition) -> tuple[Self, Self]:
        """Return what is trained on, and what is held out for the test."""
        held = draw_held_out(self.files, self.targets, seed=seed, edition=edition)
        return self.take(np.flatnonzero(~held)), self.take(np.flatnonzero(held))


@dataclass(frozen=True, kw_only=True)
class PhotoDataset:
    """A named folder of photographs. `held_out` says that its test images were drawn here, from the training images."""

    target: ClassVar[Target] = "class"
    has_files: ClassVar[bool] = True
    heading: ClassVar[bytes] = b""  # what the fingerprint begins with

    name: str
    root: Path
    class_names: tuple[str, ...]
    train: PhotoSplit
    test: PhotoSplit
    held_out: bool = False
    edition: Edition = CURRENT
    brightest: int = 255
    channels: int = 3  # whatever the files hold, it is decoded to RGB
    dimensions: int = 2
    side: None = None  # they have none in common
    usual_recipe: str = "photos"
    usual_start_recipe: str = "finetune"
    usual_network: str = "resnet-18"

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
                f"data.split={split} is only for named datasets; leave out data.split: "
                f"{self.root} is tested on its val images or on held-out ones"
            )
        return self.train, self.test

    @property
    def fingerprint(self) -> str:
        """SHA-256 over classes, and names, sizes and labels of the files of both splits."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        digest = hashlib.sha256(self.heading)
        for name in self.class_names:
            digest.update(f"{name}\n".encode(errors="surrogateescape"))  # names need not be UTF-8
        for split in (self.train, self.test):
            for index, (file, target) in enumerate(zip(split.files, split.targets, strict=True)):
                digest.update(f"{file} {split.size(index)} ".encode(errors="surrogateescape"))
                if needs_content(file, self.edition):
                    digest.update(digest_content(split.path(index)))
                digest.update(self.write_target(target))
            digest.update(b"--\n")
        return digest.hexdigest()

    def write_target(self, target: Any) -> bytes:
        """Return a target as the fingerprint takes it."""
        return f"{target}\n".encode()

    def read_words(self) -> Mapping[str, str]:
        """Return what classes are called in words, where the folder says it."""
        return read_words(self.root)

    def read_before(self, *, held_out_seed: int) -> Iterator[PhotoDataset]:
        """Yield what earlier editions made of the same files, the newest first, where that may be something else."""
        from reslab.data.photos.reader import read_edition

        for edition in reversed(Edition) if self.may_differ_before else ():
            if edition is not CURRENT:
                yield read_edition(self.root, seed=held_out_seed, edition=edition)

    def find_trained(self, before: DataSpec) -> PhotoSplit | None:
        """Return the images that a training on `before` trained on; None where the folder is not what it was."""
        from reslab.data.photos.reader import read_photos

        then = self if self.fingerprint == before.fingerprint else read_photos(self.root, known=before)
        return then.train if then.fingerprint == before.fingerprint else None

    def refuse_trial(self, trial: Trial) -> None:
        """Refuse on photographs what is meant for images of one size, and to train on none."""
        if not len(self.train):
            raise UserError(f"{self.root} has test images but no training images; add them as train/<class>/")
        if trial.recipe.augmentation.crop == "padded":
            raise UserError(
                "recipe.augmentation.crop is padded, which is for images of one size; "
                "choose shorter-side or resized, or recipe=photos"
            )
        refuse_unheeded(trial.recipe.augmentation, HEEDED, other="images of one size")
        if trial.data.split != "full":
            raise UserError(
                f"data.split={trial.data.split} is only for named datasets; leave out data.split: "
                "a folder of photographs is tested on its val images or on held-out ones"
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


def read_folder(root: Path, *, seed: int = 0, edition: Edition = CURRENT) -> PhotoDataset:
    """Read a folder of photographs; `seed` draws what is held out where there is nothing to test on."""
    found = find_photos(root)
    first, *others = found
    names = tuple(sort_classes(found[first], edition))
    train, *tested = [_gather(root, [images.get(name, []) for name in names]) for images in found.values()]
    held_out = not others and first not in VAL_NAMES
    if held_out:
        train, test = train.hold_out(seed=seed, edition=edition)
    else:  # images to test on may be all there are
        train, test = (train, *tested) if others else (train.take(slice(0)), train)
    return PhotoDataset(
        name=folder_name(root), root=root, class_names=names, train=train, test=test, held_out=held_out, edition=edition
    )


def folder_name(root: Path) -> str:
    """Return what a dataset is called, after its folder."""
    return re.sub(r"[^\w.-]+", "-", root.resolve().name) or "photos"


def _gather(root: Path, by_class: Sequence[Sequence[Path]]) -> PhotoSplit:
    files = tuple(path.relative_to(root).as_posix() for found in by_class for path in found)
    labels = np.repeat(np.arange(len(by_class), dtype=np.int64), [len(found) for found in by_class])
    return PhotoSplit(root, files, labels)
