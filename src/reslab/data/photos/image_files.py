"""The image files under a folder: one walk for training, checking and predicting.

Nothing hidden counts. Links to folders are followed, but into none that the walk has come through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from reslab.files import is_folder, list_folder

SUFFIXES = {".jpg", ".jpeg", ".png", ".bmp", ".gif", ".ppm", ".pgm", ".tif", ".tiff", ".webp"}


class Trail:
    """The folders a walk has come through: a link may lead into one of them again, and its images would be copies."""

    def __init__(self, passed: Iterable[Path]) -> None:
        self.passed = {_identify(folder) for folder in passed}

    def is_new(self, folder: Path) -> bool:
        """Whether the walk has not come through a folder yet; now it has."""
        found = _identify(folder)
        new = found not in self.passed
        self.passed.add(found)
        return new


def _identify(folder: Path) -> tuple[int, int] | Path:
    """Return what a folder has for itself, whatever path leads there."""
    try:
        found = folder.stat()
    except OSError:  # entering it will tell
        return folder
    return found.st_dev, found.st_ino


def is_image(path: Path) -> bool:
    """Whether a file would be taken for an image, by its name."""
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".")


def walk_images(
    folder: Path,
    trail: Trail,
    *,
    enter: Callable[[Path], list[Path]] = list_folder,
    tell: Callable[[str, Path, str], None] = lambda kind, path, word: None,
) -> Iterator[Path]:
    """Yield the image files under a folder, folders within it included, by name; no folder of the trail again.

    `enter` lists a folder; `tell` hears what is left out, with its kind and a word about it.
    """
    if not trail.is_new(folder):
        tell("linked again", folder, "")
        return
    for path in enter(folder):
        if path.name.startswith("."):
            continue
        if is_folder(path):
            yield from walk_images(path, trail, enter=enter, tell=tell)
        elif is_image(path):
            yield path
        else:
            tell("passed over", path, path.suffix or "no suffix")
