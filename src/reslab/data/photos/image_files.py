"""The image files under a folder: one walk for training, checking and predicting.

Nothing hidden counts. Links to folders are followed, but into none that the walk has come through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from reslab.data.photos.editions import CURRENT, sort_classes
from reslab.data.photos.findings import Finding, Tell, refuse
from reslab.errors import UserError
from reslab.files import enter_folder, is_folder, list_folder

SUFFIXES = {".jpg", ".jpeg", ".png", ".bmp", ".gif", ".ppm", ".pgm", ".tif", ".tiff", ".webp"}
VAL_NAMES = ("val", "valid", "validation", "test")
LEAST_CLASSES = 2
Classes: TypeAlias = dict[str, list[Path]]  # the images of each
Identity: TypeAlias = tuple[int, int] | Path  # what a folder has for itself, whatever path leads there


def is_image(path: Path) -> bool:
    """Whether a file would be taken for an image, by its name."""
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".")


def walk_images(
    folder: Path,
    passed: set[Identity],
    *,
    enter: Callable[[Path], list[Path]] = list_folder,
    tell: Callable[[str, Path, str], None] = lambda kind, path, detail: None,
) -> Iterator[Path]:
    """Yield the image files under a folder, folders within it included, by name; none of the folders `passed` again.

    A link may lead into one of those, and its images would be copies. `enter` lists a folder; `tell` hears what is left
    out, with its kind and a detail.
    """
    if _identify(folder) in passed:
        tell("duplicate link", folder, "")
        return
    passed.add(_identify(folder))
    for path in enter(folder):
        if path.name.startswith("."):
            continue
        if is_folder(path):
            yield from walk_images(path, passed, enter=enter, tell=tell)
        elif is_image(path):
            yield path
        else:
            tell("ignored", path, path.suffix or "no suffix")


def find_photos(root: Path, *, tell: Tell = refuse) -> dict[str, Classes]:
    """Return image files by split and class: of train, of it and val, of val alone, or of "" where there is no split.

    `tell` hears what is left out, and what a training stops at.
    """
    if not is_folder(root):
        raise UserError(f"there is no folder {root}; give one that has train/<class>/ and val/<class>/, or <class>/")
    walk = _Walk(root, tell)
    inside = [path for path in list_folder(root) if not path.name.startswith(".")]
    folders = [path.name for path in inside if path.is_dir()]
    val = [name for name in VAL_NAMES if name in folders][:1]
    splits = val if val and folders == val else ["train", *val] if "train" in folders else [""]
    if "train" in splits:
        for path in inside:
            if path.name not in splits and (path.is_dir() or is_image(path)):
                walk.note("ignored", path, "beside " + " and ".join(splits))
    found = {split: walk.read_split(root / split) for split in splits}
    _judge_classes(walk, found)
    return found


def _judge_classes(walk: _Walk, found: Mapping[str, Classes]) -> None:
    """Report what is wrong with the classes of splits; without training images, this stops nothing."""
    splits = list(found)
    train, trained, alone = walk.root / splits[0], found[splits[0]], splits[0] in VAL_NAMES
    val, tested, has_val = walk.root / splits[-1], found[splits[-1]], splits[-1] in VAL_NAMES
    names = sort_classes(trained, CURRENT)
    if len(names) < LEAST_CLASSES:
        few = f"{train} has {len(names) or 'no'} folder{'s' * (len(names) != 1)} of images"
        refusal = None if alone else f"{few}, but at least two classes are needed; make a folder for each"
        if names:
            walk.note("too few classes", train, "one class", refusal)
        else:
            walk.tell(None, refusal)
    empty = [name for name in names if not trained[name] and train / name not in walk.closed]
    for name in empty:
        refusal = None if alone else f"{train / name} has no images; fill it or remove it"
        walk.note("empty class", train / name, refusal=refusal)
    for name in names:
        if len(trained[name]) == 1 and not has_val:
            one = f"{trained[name][0].parent} has only one image"
            refusal = f"{one}, so none can be held out for the test; add another, or make a val folder"
            walk.note("single image", train / name, refusal=refusal)
        if len(splits) > 1 and not tested.get(name) and name not in empty:
            walk.note("class not in val", train / name)
    for name in tested:
        if name not in trained:
            refusal = f"{val / name} is a class without training images; add it to train, or remove it"
            walk.note("class only in val", val / name, refusal=refusal)
    if has_val and not any(tested.values()):
        walk.tell(None, f"{val} has no images; fill it, or remove it to hold out a part of train for the test")


@dataclass
class _Walk:
    """A walk through folders of classes that reports what it cannot enter or use, and continues unless that raises."""

    root: Path
    tell: Tell
    closed: set[Path] = field(default_factory=set)

    def note(self, kind: str, path: Path, detail: str = "", refusal: str | None = None) -> None:
        self.tell(Finding(kind, path.relative_to(self.root).as_posix(), detail), refusal)

    def enter(self, folder: Path) -> list[Path]:
        try:
            return enter_folder(folder)
        except OSError as error:
            self.closed.add(folder)
            refusal = f"{folder} cannot be read: {error.strerror}; check its permissions"
            self.note("closed folder", folder, error.strerror or "", refusal)
            return []

    def read_split(self, folder: Path) -> Classes:
        """Return the images of each class; a link back to what the classes are in is none."""
        passed, found = {_identify(self.root), _identify(folder)}, {}
        for path in self.enter(folder):
            if path.name.startswith("."):
                continue
            if not path.is_dir():
                if is_image(path):
                    self.note("ignored", path, "not in a class")
            elif _identify(path) in passed:
                self.note("duplicate link", path)
            else:
                found[path.name] = list(walk_images(path, set(passed), enter=self.enter, tell=self.note))
        return found


def _identify(folder: Path) -> Identity:
    try:
        found = folder.stat()
    except OSError:  # entering it will tell
        return folder
    return found.st_dev, found.st_ino
