"""Where the photographs of a folder lie, as `read_photos` takes them, and all that is wrong with the places."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from reslab.data.photos.folder import SUFFIXES, VAL_NAMES
from reslab.data.photos.members import Stored
from reslab.data.photos.shards import has_shards, read_shards

Trouble = tuple[str, str, str]  # its kind, the path under the root, a word about it


@dataclass(frozen=True)
class Photo:
    """An image by its path under the root, the split it lies in ("" where there are none), its class and its place."""

    path: str
    split: str
    label: str
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
    return _scan_shards(root) if has_shards(root) else scan_folder(root)


def _scan_shards(root: Path) -> Scan:
    """Find the members of shards; what is wrong with these, reading them refuses."""
    dataset = read_shards(root)
    splits = ("",) if dataset.held_out else ("train", "val")
    photos = [
        Photo(str(place).removeprefix(f"{root}/"), split, dataset.class_names[label], place)
        for split, part in ((splits[0], dataset.train), (splits[-1], dataset.test))
        for place, label in zip(map(part.path, range(len(part))), part.labels.tolist(), strict=True)
    ]
    untested = set(range(len(dataset.class_names))) - set(dataset.test.labels.tolist())
    troubles = tuple(("class not in val", dataset.class_names[label], "") for label in sorted(untested))
    return Scan(splits, dataset.class_names, tuple(photos), troubles)


def scan_folder(root: Path) -> Scan:
    """Find the image files under `root`."""
    walk = _Walk(root)
    inside = walk.enter(root)
    folders = [path.name for path in inside if path.is_dir()]
    splits = ("",)
    if "train" in folders:
        splits = ("train", *[name for name in VAL_NAMES if name in folders][:1])
        for path in inside:
            if path.name not in splits and not path.name.startswith(".") and (path.is_dir() or _is_image(path)):
                walk.tell("passed over", path, "beside " + " and ".join(splits))
    found = {split: walk.read_split(root / split) for split in splits}
    trained = found[splits[0]]
    for label, images in trained.items():
        folder = root / splits[0] / label
        if not images and folder not in walk.closed:
            walk.tell("empty class", folder)
        elif len(splits) > 1 and not found[splits[1]].get(label):
            walk.tell("class not in val", folder)
    for label in found[splits[-1]].keys() - trained.keys():
        walk.tell("class only in val", root / splits[-1] / label)
    photos = (
        Photo(path.relative_to(root).as_posix(), split, label, path)
        for split, classes in found.items()
        for label, images in classes.items()
        for path in images
    )
    classes = sorted({label for classes in found.values() for label in classes})
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
            (folder / "..").stat()  # what may be listed may still not be entered
            return sorted(Path(entry.path) for entry in os.scandir(folder))
        except OSError as error:
            self.closed.add(folder)
            self.tell("closed folder", folder, error.strerror or "")
            return []

    def read_split(self, folder: Path) -> dict[str, list[Path]]:
        shown = [path for path in self.enter(folder) if not path.name.startswith(".")]
        for path in shown:
            if _is_image(path) and not path.is_dir():
                self.tell("passed over", path, "in no class")
        return {path.name: self.read_class(path) for path in shown if path.is_dir()}

    def read_class(self, folder: Path) -> list[Path]:
        images = []
        for path in self.enter(folder):
            if path.is_dir():
                images += self.read_class(path)
            elif _is_image(path):
                images.append(path)
            elif not path.name.startswith("."):
                self.tell("passed over", path, path.suffix or "no suffix")
        return images


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".")
