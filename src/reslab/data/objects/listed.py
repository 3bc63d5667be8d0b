"""Images that lists name one a line, with an annotation in XML each: what Pascal VOC and ImageNet's detection share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from reslab.data.objects.annotations import Annotated, Folders, Teller, Thing, Trouble
from reslab.data.objects.kept_files import KeptFiles
from reslab.data.objects.xml_files import read_xml
from reslab.data.photos.members import reading

LABEL = re.compile(r"\s+-?\d+$")  # behind a name: whether the image shows a class, or which image of the list it is


@dataclass(frozen=True)
class Listed:
    """The names on a list, which is told as `place`, and in which folders their images and annotations lie."""

    place: str
    names: tuple[str, ...]
    images: str
    annotations: str


def read_names(path: Path) -> tuple[str, ...]:
    """Return the lines of a list that are not empty."""
    with reading(path, remedy="check its permissions"):
        lines = path.read_text(encoding="utf-8-sig", errors="surrogateescape").splitlines()
    return tuple(line.strip() for line in lines if line.strip())


def find_names(root: Path, folder: str) -> tuple[str, ...]:
    """Return the names of all annotations under a folder."""
    return tuple(sorted(path.relative_to(root / folder).with_suffix("").as_posix() for path in _walk(root / folder)))


def read_listed(folders: Folders, lists: Sequence[Listed], *, kept: KeptFiles, teller: Teller) -> list[Annotated]:
    """Read the images of lists, each once, with their objects; what cannot be taken is told, and left out."""
    read: dict[str, Annotated] = {}
    for listed in lists:
        for name in listed.names:
            file = _find_image(folders, listed.images, name)
            if file is None:
                missing = f"{name} is listed, but {listed.images} has no such image; add it, or remove the line"
                teller.stop("missing image", listed.place, missing)
            elif file in read:
                teller.note("listed twice", file, f"in {listed.place}")
            elif found := _read_image(file, listed, kept=kept, teller=teller):
                read[file] = found
    return list(read.values())


def _walk(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*.xml") if not path.name.startswith("."))


def _find_image(folders: Folders, folder: str, name: str) -> str | None:
    """Return the file of a name, which may be followed by a label."""
    for each in dict.fromkeys((name, LABEL.sub("", name))):
        inside = PurePosixPath(each)
        if inside.is_absolute() or ".." in inside.parts:
            return None
        deeper = inside.parent.as_posix()
        if found := folders.find(folder if deeper == "." else f"{folder}/{deeper}", inside.name):
            return found
    return None


def _read_image(file: str, listed: Listed, *, kept: KeptFiles, teller: Teller) -> Annotated | None:
    inside = PurePosixPath(file).relative_to(listed.images).with_suffix(".xml")
    place = f"{listed.annotations}/{inside}"
    try:
        things, size = kept.read(place, _read_plainly)
    except FileNotFoundError:
        remedy = "write it, or take the image off the list"
        teller.stop("no annotation", file, f"there is no annotation {place}; {remedy}")
    except OSError as error:
        teller.stop("wrong annotation", place, f"cannot be read: {error.strerror}; check its permissions")
    except Trouble as trouble:
        teller.stop("wrong annotation", place, str(trouble))
    else:
        return Annotated(file, place, tuple(Thing(*thing) for thing in things), size and (size[0], size[1]))
    return None


def _read_plainly(path: Path) -> list[Any]:
    """Return the objects of an annotation and the size of its image as they can be kept."""
    things, size = read_xml(path)
    return [[list(thing) for thing in things], size]
