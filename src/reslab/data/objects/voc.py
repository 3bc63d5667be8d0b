"""Pascal VOC: ``JPEGImages``, ``Annotations`` and lists in ``ImageSets/Main``; or a devkit with a folder for each year.

The newest ``test`` list that has annotations is tested on, and everything else is trained on: with VOC2007 and VOC2012
that is what papers call 07+12, or 07++12 where the test images of 2012 are annotated. Without a test list, ``train`` is
trained on and ``val`` is tested on; without lists, a part is held out.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from pathlib import Path

from reslab.data.objects.annotations import TEST, TRAIN, Annotations, Folders, Teller
from reslab.data.objects.kept_files import keep_files
from reslab.data.objects.listed import Listed, find_names, read_listed, read_names
from reslab.data.objects.xml_files import write_pixels

DEVKIT, IMAGES, XML, LISTS = "VOCdevkit", "JPEGImages", "Annotations", "ImageSets/Main"
YEAR = re.compile(r"VOC\d{4}")


@dataclass(frozen=True)
class Year:
    """A folder of images, by its path under the root with a slash behind it, and its lists."""

    folder: str
    lists: dict[str, Listed]

    @property
    def trained(self) -> list[Listed]:
        """What is for training and validation."""
        together = self.lists.get("trainval")
        return [together] if together else [self.lists[name] for name in ("train", "val") if name in self.lists]


def find_voc(root: Path) -> str | None:
    """Return by what a folder is Pascal VOC's; None where it is not."""
    years = _find_years(root)
    return f"{years[0]}{XML}" if years else None


def read_voc(root: Path, teller: Teller) -> Annotations:
    """Read the images and objects of all years."""
    years = [_read_year(root, folder) for folder in _find_years(root)]
    splits = {split: lists for split, lists in _divide(root, years).items() if lists}
    folders = Folders(root)
    with keep_files(root) as kept:
        found = {split: read_listed(folders, lists, kept=kept, teller=teller) for split, lists in splits.items()}
    return Annotations(found, write_pixels)


def _find_years(root: Path) -> list[str]:
    with contextlib.suppress(OSError):
        if _is_year(root):
            return [""]
        for above in ("", f"{DEVKIT}/"):
            if (root / above).is_dir():
                inside = sorted((root / above).iterdir())
                years = [f"{above}{path.name}/" for path in inside if YEAR.fullmatch(path.name) and _is_year(path)]
                if years:
                    return years
    return []


def _is_year(folder: Path) -> bool:
    return (folder / XML).is_dir() and (folder / IMAGES).is_dir()


def _read_year(root: Path, folder: str) -> Year:
    lists = {}
    for name in ("train", "val", "trainval", "test"):
        place = f"{folder}{LISTS}/{name}.txt"
        if (root / place).is_file() and (names := read_names(root / place)):
            lists[name] = Listed(place, names, f"{folder}{IMAGES}", f"{folder}{XML}")
    if not lists:
        place = f"{folder}{XML}"
        lists["trainval"] = Listed(place, find_names(root, place), f"{folder}{IMAGES}", place)
    return Year(folder, lists)


def _divide(root: Path, years: list[Year]) -> dict[str, list[Listed]]:
    """Return the lists of each split."""
    tested = [year for year in years if "test" in year.lists and _is_annotated(root, year.lists["test"])]
    if tested:
        last = tested[-1]
        train = [each for year in years for each in year.trained]
        train += [year.lists["test"] for year in tested if year is not last]
        return {TRAIN: train, TEST: [last.lists["test"]]}
    val = [year.lists["val"] for year in years if {"train", "val"} <= year.lists.keys()]
    if not val:
        return {"": [each for year in years for each in year.trained]}
    train = [[year.lists["train"]] if {"train", "val"} <= year.lists.keys() else year.trained for year in years]
    return {TRAIN: [each for lists in train for each in lists], TEST: val}


def _is_annotated(root: Path, listed: Listed) -> bool:
    """Whether anything says what is in the images of a list: of VOC 2012's test images, nothing public does."""
    return any((root / f"{listed.annotations}/{name}.xml").is_file() for name in listed.names[:100])
