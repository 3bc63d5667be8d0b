"""Photographs with boxes around objects, as a dataset: the images, and rows of numbers for the objects in each.

Images without any object are background. Where nothing is to be tested on, a part is held out, drawn by a seed; where
nothing is to be trained on, all is tested on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray

from reslab.data.objects.annotations import TEST, TRAIN, Annotated, Annotations, Teller
from reslab.data.objects.layouts import find_layout
from reslab.data.objects.rows import name_classes, write_rows
from reslab.data.objects.sizes import measure_images
from reslab.data.photos.editions import CURRENT, Edition, draw_held_out, refuse_seed
from reslab.data.photos.findings import Tell, refuse
from reslab.data.photos.folder import PhotoDataset, PhotoSplit, folder_name
from reslab.data.targets import RowTargets, stack_rows
from reslab.errors import UserError
from reslab.runtime.listener import Listener
from reslab.runtime.processes import Processes
from reslab.spec.augmentation import FOR_BOXES, refuse_unheeded
from reslab.spec.boxes import ABSENT, CLASS, HEIGHT, WIDTH
from reslab.spec.task_spec import Target
from reslab.spec.trial import Trial

if TYPE_CHECKING:
    from reslab.data.objects.feed import ObjectsFeed

HEEDED = ("flip", *FOR_BOXES)  # of an augmentation


@dataclass(frozen=True)
class ObjectsSplit(PhotoSplit):
    """Files, by their path under the dataset's root, and the rows of each."""

    targets: RowTargets  # pyright: ignore[reportIncompatibleVariableOverride]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Width and height of each image, as its frame has them."""
        firsts = self.targets.ends - self.targets.count()
        return self.targets.rows[firsts][:, [WIDTH, HEIGHT]].astype(np.int64)

    def take(self, indices: slice | NDArray[np.int64]) -> Self:
        """Return the part of the split at `indices`."""
        chosen = np.arange(len(self))[indices]
        files = tuple(self.files[index] for index in chosen)
        return replace(self, files=files, targets=self.targets.take(chosen))

    def classes_of(self, index: int) -> NDArray[np.int64]:
        """Return the numbers of the classes that an image shows, each once."""
        found = np.unique(self.targets.of(index)[:, CLASS]).astype(np.int64)
        return found[found >= 0]

    def hold_out(self, *, seed: int, edition: Edition) -> tuple[Self, Self]:
        """Return what is trained on, and what is held out for the test: of every class some, where that can be."""
        shown = np.zeros((len(self), 1 + int(self.targets.rows[:, CLASS].max(initial=0))), np.int64)
        for index in range(len(self)):
            shown[index, self.classes_of(index)] = 1
        held = draw_held_out(self.files, shown, seed=seed, edition=edition)
        return self.take(np.flatnonzero(~held)), self.take(np.flatnonzero(held))


@dataclass(frozen=True, kw_only=True)
class ObjectsDataset(PhotoDataset):
    """Photographs whose targets are the boxes and classes of the objects in them."""

    target: ClassVar[Target] = "boxes"
    heading: ClassVar[bytes] = b"boxes\n"

    train: ObjectsSplit
    test: ObjectsSplit
    usual_recipe: str = "objects"
    usual_start_recipe: str = "objects"
    usual_network: str = "resnet-50"

    def write_target(self, target: NDArray[Any]) -> bytes:
        """Return a target as the fingerprint takes it."""
        return target[target[:, CLASS] != ABSENT].tobytes()

    def read_before(self, *, held_out_seed: int) -> Iterator[ObjectsDataset]:
        """Earlier editions read no objects."""
        yield from ()

    def refuse_trial(self, trial: Trial) -> None:
        """Refuse what is meant for crops, or for images of one size, and to train without objects."""
        for split, use in zip(self.divide(trial.data.split), ("train", "test"), strict=True):
            if not split.targets.any():
                raise UserError(f"no image of {self.root} has an object to {use} on; annotate some")
        refuse_unheeded(trial.recipe.augmentation, HEEDED, other="images with one class each")
        for field, usual in (("sampling", "shuffled"), ("class_weights", "none")):
            if (value := getattr(trial.recipe, field)) != usual:
                raise UserError(f"recipe.{field} is {value}, which is for images with one class each; leave it out")
        if trial.recipe.resizing.initial != 1:
            raise UserError(
                "recipe.resizing is for crops of one size, but images with objects stay whole; leave it out"
            )
        per_pixel = trial.preprocess is not None and trial.preprocess.per_pixel_mean
        if per_pixel or (trial.preprocess is None and trial.recipe.centring == "mean-image"):
            raise UserError(
                "a mean image is subtracted, but images with objects are of many sizes; set recipe.centring=imagenet"
            )

    def list_packages(self, trial: Trial) -> Collection[str]:
        """Return the packages that make a trial's batches; torch resizes the images."""
        return {"numpy", "pillow", "simplejpeg", "torch"}

    def make_feed(
        self, trial: Trial, *, device: torch.device | str, processes: Processes, folder: Path | None, listener: Listener
    ) -> ObjectsFeed:
        """Return what decodes and resizes a trial's batches; `folder` keeps what was skipped."""
        from reslab.data.objects.feed import make_feed

        return make_feed(self, trial, device=device, processes=processes, folder=folder, listener=listener)


def read_objects(root: Path, *, seed: int = 0, edition: Edition = CURRENT, tell: Tell = refuse) -> ObjectsDataset:
    """Read a folder of images with annotated objects; `seed` draws what is held out where nothing is to be tested on.

    `tell` hears of everything that cannot be taken; where it does not raise, that is left out.
    """
    refuse_seed(seed)
    read, teller = find_layout(root), Teller(root, tell)
    assert read is not None
    annotations = read(root, teller)
    classes = name_classes(annotations, teller=teller)
    sizes = measure_images(root, [image.file for images in annotations.splits.values() for image in images])
    found = {
        split: _gather(images, sizes, classes=classes, annotations=annotations, teller=teller)
        for split, images in annotations.splits.items()
    }
    room = max((len(rows) for images in found.values() for rows in images.values()), default=1)
    splits = {
        split: ObjectsSplit(root, tuple(rows), stack_rows([*rows.values()], room=room)) for split, rows in found.items()
    }
    for split, images in splits.items():
        if not len(images):
            raise UserError(f"{root} has no image to {'test' if split == TEST else 'train'} on; add some")
    held_out = TEST not in splits
    if held_out:
        (whole,) = splits.values()
        if len(whole) == 1:
            raise UserError(f"{root} has only one image, so none can be held out for the test; add another")
        train, test = whole.hold_out(seed=seed, edition=edition)
    else:
        test = splits[TEST]
        train = splits.get(TRAIN, test.take(slice(0)))
    return ObjectsDataset(
        name=folder_name(root),
        root=root,
        class_names=classes,
        train=train,
        test=test,
        held_out=held_out,
        edition=edition,
    )


def _gather(
    images: Sequence[Annotated],
    sizes: dict[str, tuple[int, int]],
    *,
    classes: Sequence[str],
    annotations: Annotations,
    teller: Teller,
) -> dict[str, NDArray[np.float32]]:
    """Return the rows of all images that can be taken, by their files."""
    numbers = {name: number for number, name in enumerate(classes)}
    found = {}
    for image in images:
        rows = write_rows(image, sizes[image.file], classes=numbers, annotations=annotations, teller=teller)
        if rows is not None:
            found[image.file] = rows
    return found
