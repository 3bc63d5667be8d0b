"""How a folder of photographs is read, as versions of this package have done it: what is drawn, ordered and known.

Runs know their data by a fingerprint, and each edition has its own wherever it differs: so a run of before is read as
it was, and nothing else need be written down.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from pathlib import PurePosixPath

# What these hold is as large as the image is wide and high, whatever it shows.
UNCOMPRESSED = {".bmp", ".ppm", ".pgm", ".tif", ".tiff"}


class Edition(IntEnum):
    """FIRST held images out by position, sorted classes 0 to 10 as text and knew every file by its size alone."""

    FIRST = 1
    SECOND = 2


CURRENT = Edition.SECOND


def sort_classes(names: Iterable[str], edition: Edition) -> list[str]:
    """Return classes in the order of their labels: by name, and where all are numbers, by number."""
    names = sorted(names)
    if edition is not Edition.FIRST and all(name.isdecimal() for name in names):
        return sorted(names, key=int)
    return names


def needs_content(file: str, edition: Edition) -> bool:
    """Whether a file's size does not tell it from another of the same name."""
    return edition is not Edition.FIRST and PurePosixPath(file).suffix.lower() in UNCOMPRESSED
