"""Where the photographs of a folder lie, as `read_photos` takes them, and all that is wrong with the places."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from reslab.data.photos.editions import CURRENT, sort_classes
from reslab.data.photos.folder import LEAST_CLASSES, VAL_NAMES, PhotoDataset, PhotoSplit, find_tests_alone
from reslab.data.photos.image_files import Trail, is_image, walk_images
from reslab.data.photos.label_list import find_list, read_labelled
from reslab.data.photos.members import Stored
from reslab.data.photos.shards import has_shards, read_shards
from reslab.data.photos.wrong import Wrong
from reslab.files import enter_folder

Trouble = tuple[str, str, str]  # its kind, the path under the root, a word about it


@dataclass(frozen=True)
class Photo:
    """An image by its path under the root, the split it is in ("" where there are none), its labels and its place.

    Where folders are the classes, it has one label.
    """

    path: str
    split: str
    labels: tuple[str, ...]
    place: Stored


@dataclass(frozen=True)
class Scan:
    """A folder's splits, classes and images, and its troubles."""

    splits: tuple[str, ...]
    classes: tuple[str, ...]
    photos: tuple[Photo, ...]
    troubles: tuple[Trouble, ...]


def scan_photos(root: Path) -> Scan:
    """Find the photographs under `root`."""
    if find_list(root):
        return _scan_listed(root)
    return _scan_shards(root) if has_shards(root) else scan_folder(root)


def _scan_shards(root: Path) -> Scan:
    """Find the images in shards; shards that cannot be taken are left out."""
    wrong: list[Wrong] = []
    scan = _scan_dataset(read_shards(root, tell=wrong.append))
    troubles = tuple(("wrong shard", shard.place, shard.trouble) for shard in wrong)
    return replace(scan, troubles=scan.troubles + troubles)


def _scan_listed(root: Path) -> Scan:
    """Find the images on lists; others are passed over, and lines that cannot be taken left out."""
    wrong: list[Wrong] = []
    scan = _scan_dataset(read_labelled(root, tell=wrong.append))
    listed = {photo.path for photo in scan.photos}
    found = (path.relative_to(root).as_posix() for path in sorted(root.rglob("*")) if is_image(path))
    passed = tuple(("passed over", path, "on no list") for path in found if path not in listed)
    lines = tuple(("wrong line", line.place, line.trouble) for line in wrong)
    return replace(scan, troubles=scan.troubles + lines + passed)


def _scan_dataset(dataset: PhotoDataset) -> Scan:
    """Find the images of a dataset that was read: what could be wrong with their places, reading it refused."""
    splits = ("",) if dataset.held_out else ("train", "val")
    photos = [
        Photo(str(place).removeprefix(f"{dataset.root}/"), split, _name_labels(dataset, part, index), place)
        for split, part in ((splits[0], dataset.train), (splits[-1], dataset.test))
        for index, place in enumerate(map(part.path, range(len(part))))
    ]
    tested = {name for index in range(len(dataset.test)) for name in _name_labels(dataset, dataset.test, index)}
    troubles = tuple(("class not in val", name, "") for name in dataset.class_names if name not in tested)
    return Scan(splits, dataset.class_names, tuple(photos), troubles)


def _name_labels(dataset: PhotoDataset, part: PhotoSplit, index: int) -> tuple[str, ...]:
    label = part.targets[index]
    return tuple(dataset.class_names[number] for number in (np.flatnonzero(label) if label.ndim else [label]))


def scan_folder(root: Path) -> Scan:
    """Find the image files under `root`."""
    walk = _Walk(root)
    inside = walk.enter(root)
    folders = [path.name for path in inside if path.is_dir()]
    splits = ("",)
    alone = find_tests_alone(root)
    if alone is not None:
        splits = (alone.name,)
    elif "train" in folders:
        splits = ("train", *[name for name in VAL_NAMES if name in folders][:1])
        for path in inside:
            if path.name not in splits and not path.name.startswith(".") and (path.is_dir() or is_image(path)):
                walk.tell("passed over", path, "beside " + " and ".join(splits))
    found = {split: walk.read_split(root / split) for split in splits}
    trained = found[splits[0]]
    if 0 < len(trained) < LEAST_CLASSES:
        walk.tell("too few classes", root / splits[0], "one class")
    for label, images in trained.items():
        folder = root / splits[0] / label
        if not images and folder not in walk.closed:
            walk.tell("empty class", folder)
        elif len(splits) == len(images) == 1 and alone is None:
            walk.tell("single image", folder)
        elif len(splits) > 1 and not found[splits[1]].get(label):
            walk.tell("class not in val", folder)
    for label in found[splits[-1]].keys() - trained.keys():
        walk.tell("class only in val", root / splits[-1] / label)
    photos = (
        Photo(path.relative_to(root).as_posix(), split, (label,), path)
        for split, classes in found.items()
        for label, images in classes.items()
        for path in images
    )
    classes = sort_classes({label for classes in found.values() for label in classes}, CURRENT)
    return Scan(splits, tuple(classes), tuple(photos), tuple(walk.troubles))


@dataclass
class _Walk:
    """A walk that notes what it cannot enter or use, and goes on."""

    root: Path
    troubles: list[Trouble] = field(default_factory=list)
    closed: set[Path] = field(default_factory=set)

    def tell(self, kind: str, path: Path, word: str = "") -> None:
        self.troubles.append((kind, path.relative_to(self.root).as_posix(), word))

    def enter(self, folder: Path) -> list[Path]:
        try:
            return enter_folder(folder)
        except OSError as error:
            self.closed.add(folder)
            self.tell("closed folder", folder, error.strerror or "")
            return []

    def read_split(self, folder: Path) -> dict[str, list[Path]]:
        shown = [path for path in self.enter(folder) if not path.name.startswith(".")]
        for path in shown:
            if is_image(path) and not path.is_dir():
                self.tell("passed over", path, "in no class")
        found = {}
        for path in filter(Path.is_dir, shown):
            if Trail([self.root, folder]).is_new(path):
                trail = Trail([self.root, folder])
                found[path.name] = list(walk_images(path, trail, enter=self.enter, tell=self.tell))
            else:
                self.tell("linked again", path)
        return found
