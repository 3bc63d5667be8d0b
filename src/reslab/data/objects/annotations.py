"""What the readers of all layouts find alike: images, the objects in them, and where that is written down."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from reslab.data.photos.findings import Finding, Tell
from reslab.data.photos.image_files import is_image
from reslab.errors import UserError
from reslab.files import list_folder
from reslab.numbers import write_size
from reslab.spec.boxes import PLAIN

TRAIN, TEST = "train", "val"  # the splits, as photographs in folders call them


class Thing(NamedTuple):
    """An object: its class, its box between edges of pixels, and how its annotation is told from the others."""

    name: str
    left: float
    top: float
    right: float
    bottom: float
    number: int
    mark: int = PLAIN
    area: float | None = None  # of the box, where none is given


@dataclass(frozen=True)
class Annotated:
    """An image by its path under the root, and its objects; `place` is where these are written down.

    `size` is what the annotation says of width and height, if it does. Boxes may be fractions of these.
    """

    file: str
    place: str
    things: tuple[Thing, ...]
    size: tuple[int, int] | None = None
    has_fractions: bool = False


@dataclass(frozen=True)
class Annotations:
    """The images of each split, or of "" where nothing divides them; `classes` where the layout lists them.

    `write` says of an object what its annotation says of its box.
    """

    splits: Mapping[str, Sequence[Annotated]]
    write: Callable[[Thing, tuple[int, int]], str]
    classes: tuple[str, ...] | None = None


class Trouble(Exception):
    """What is wrong with an annotation, and the remedy; whoever knows its place tells it."""


@dataclass(frozen=True)
class Teller:
    """Tells what is wrong at a place under the root, to whoever stops there or takes note of it."""

    root: Path
    tell: Tell

    def stop(self, kind: str, place: str, trouble: str) -> None:
        """Tell what a training stops at."""
        self.tell(Finding(kind, place, trouble), f"{self.root / place}: {trouble}")

    def note(self, kind: str, place: str, detail: str = "") -> None:
        """Tell what it does not stop at."""
        self.tell(Finding(kind, place, detail), None)


@dataclass
class Folders:
    """The image files of folders by their names, each folder listed once."""

    root: Path
    listed: dict[str, dict[str, str]] = field(default_factory=dict)

    def find(self, folder: str, stem: str) -> str | None:
        """Return the path, under the root, of the image in a folder that is called `stem`, whatever its ending."""
        if folder not in self.listed:
            inside = list_folder(self.root / folder) if (self.root / folder).is_dir() else []
            self.listed[folder] = {path.stem: f"{folder}/{path.name}" for path in inside if is_image(path)}
        return self.listed[folder].get(stem)


def refuse_large(path: Path, most: int) -> None:
    """Refuse a file that is larger than any of its kind, before it is read."""
    if (size := path.stat().st_size) > most:
        raise Trouble(f"{write_size(size)} are more than the {write_size(most)} such a file may have; divide it")


def under(root: Path, path: Path) -> str:
    """Return a path as it is called under the root; refuse one that leads elsewhere."""
    try:
        parts = path.relative_to(root)
    except ValueError:
        raise UserError(f"{path} is not in {root}; move the images there, and name them relative to it") from None
    if ".." in parts.parts:
        raise UserError(f"{path} leads out of {root}; move the images there, and name them relative to it")
    return parts.as_posix()
