"""A folder of photographs with any number of labels each: the images, and lists of them with their labels, as CSV.

``train.csv`` or ``labels.csv``, and ``val.csv`` for the test; without that a part is held out, drawn by a seed.
The first line names the columns: ``image``, then a class each, with 0 or 1 below; or ``image,labels``, with
semicolons between an image's labels. Columns may be separated by semicolons or tabs instead, as some spreadsheets do.
Images are named by their path under the folder, with slashes or, as Windows writes it, backslashes.
"""

import contextlib
import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from reslab.data.photos.editions import CURRENT, Edition, refuse_seed, sort_classes
from reslab.data.photos.findings import Finding, Tell, refuse
from reslab.data.photos.folder import PhotoDataset, PhotoSplit, folder_name
from reslab.data.photos.members import reading
from reslab.errors import UserError
from reslab.files import is_file
from reslab.spec.task_spec import Target

LISTS, VAL_LIST = ("train.csv", "labels.csv"), "val.csv"
LABEL_SEPARATOR = ";"
COLUMNS = "image,CLASS,CLASS with 0 or 1 in each line, or image,labels with semicolons between labels"


@dataclass(frozen=True, kw_only=True)
class MultiLabelDataset(PhotoDataset):
    """Photographs whose targets are a row of labels each, 0 or 1 for every class."""

    target: ClassVar[Target] = "labels"
    heading: ClassVar[bytes] = b"multi-label\n"

    def write_target(self, target: NDArray[np.int64]) -> bytes:
        """Return a target as the fingerprint takes it."""
        return target.astype(np.uint8).tobytes()


def find_list(root: Path) -> Path | None:
    """Return the list of a folder's training images and their labels, where it has one that may be seen."""
    found: list[Path] = []
    with contextlib.suppress(OSError):  # a folder that may not be entered, which reading it tells
        found = [root / name for name in LISTS if (root / name).is_file()]
    if len(found) > 1:
        raise UserError(
            f"{root} has both {LISTS[0]} and {LISTS[1]}; keep one of them, and list test images in {VAL_LIST}"
        )
    return found[0] if found else None


def read_labelled(root: Path, *, seed: int = 0, edition: Edition = CURRENT, tell: Tell = refuse) -> MultiLabelDataset:
    """Read a folder with a list of labels; `seed` draws what is held out where there is no list for the test.

    `tell` hears of every line that cannot be taken; where it does not raise, the line is left out.
    """
    refuse_seed(seed)
    path = find_list(root)
    assert path is not None
    given = _read_list(path, tell, edition)
    train = _gather(root, given)
    absent = [name for name, count in zip(given.classes, train.targets.sum(0), strict=True) if not count]
    if absent:
        raise UserError(f"no image of {path} has the label '{absent[0]}'; add one, or remove the column")
    held_out = not (root / VAL_LIST).is_file()
    if held_out:
        train, test = train.hold_out(seed=seed, edition=edition)
        lost = [name for name, count in zip(given.classes, train.targets.sum(0), strict=True) if not count]
        if lost or not len(test):
            what = f"all images of '{lost[0]}' were" if lost else "no image could be"
            raise UserError(f"{what} held out of {path}; try another data.held_out_seed, or add a list {VAL_LIST}")
    else:
        test = _gather(root, _read_val(root / VAL_LIST, given, tell, edition))
    if not test.targets.any():
        raise UserError(f"no test image has a label, so precision cannot be computed; list other images in {VAL_LIST}")
    name, classes = folder_name(root), given.classes
    return MultiLabelDataset(
        name=name, root=root, class_names=classes, train=train, test=test, held_out=held_out, edition=edition
    )


@dataclass(frozen=True)
class _List:
    """What a list says: the classes, in order, and the labels of every image; `by_column` where classes are columns."""

    path: Path
    classes: tuple[str, ...]
    labels: dict[str, tuple[str, ...]]
    by_column: bool


def _read_list(path: Path, tell: Tell, edition: Edition) -> _List:
    labels: dict[str, tuple[str, ...]] = {}
    lines: dict[str, int] = {}
    try:
        with reading(path, remedy="check its permissions"), path.open(encoding="utf-8-sig", newline="") as file:
            separator = _find_separator(file.readline())
            file.seek(0)
            rows = csv.reader(file, strict=True, delimiter=separator)
            header = [name.strip() for name in next(rows, [])]
            _refuse_header(path, header)
            for row in rows:
                if not any(cell.strip() for cell in row):
                    continue
                if separator == LABEL_SEPARATOR and _is_long(header) and len(row) > 2:
                    row = [row[0], separator.join(row[1:])]  # between labels it need not be quoted
                try:
                    image, names = _read_row(path.parent, row, header)
                    if image in lines:
                        raise _WrongLine(f"{image} is already on line {lines[image]}; keep one of them")
                except _WrongLine as trouble:
                    place = f"{path.name}, line {rows.line_num}"
                    tell(Finding("wrong line", place, str(trouble)), f"{path.parent / place}: {trouble}")
                    continue
                labels[image], lines[image] = names, rows.line_num
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path} is not CSV in UTF-8: {error}; write it again") from error
    if not labels:
        raise UserError(f"{path} lists no images; add a line for each")
    by_column = not _is_long(header)
    classes = header[1:] if by_column else sort_classes(set().union(*labels.values()), edition)
    if not classes:
        raise UserError(f"no image of {path} has a label; add some in the column 'labels'")
    return _List(path, tuple(classes), labels, by_column)


def _find_separator(line: str) -> str:
    """Return what separates the columns: of the three there are, what comes first in the line that names them."""
    found = re.search(r"[,;\t]", line)
    return found[0] if found else ","


def _is_long(header: Sequence[str]) -> bool:
    return header[1:] == ["labels"]


def _refuse_header(path: Path, header: Sequence[str]) -> None:
    if not any(header):
        raise UserError(f"{path} is empty; the first line must name the columns: {COLUMNS}")
    if header[0] != "image":
        raise UserError(
            f"the first column of {path} is '{header[0]}', not 'image'; the columns are {COLUMNS} "
            "(if folders are the classes, rename the file)"
        )
    if len(header) == 1:
        raise UserError(
            f"{path} has no column of labels; the columns are {COLUMNS}, for example 'image,labels' and below it "
            "'a.jpg,cat;dog'"
        )
    for place, name in enumerate(header):
        if not name or name in header[:place]:
            raise UserError(
                f"column {place + 1} of {path} {f'repeats the name {name}' if name else 'has no name'}; correct it"
            )


class _WrongLine(Exception):
    """What is wrong with a line, which may be left out."""


def _read_row(folder: Path, row: Sequence[str], header: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the image of a line and its labels."""
    if len(row) != len(header):
        raise _WrongLine(f"{len(row)} cells, but the first line has {len(header)}; correct it")
    file, *cells = [cell.strip() for cell in row]
    if "\\" in file and not is_file(folder / file):
        file = PureWindowsPath(file).as_posix()
    image = PurePosixPath(file)
    if not file or image.is_absolute() or ".." in image.parts:
        raise _WrongLine(f"'{file}' is not the path of an image in {folder}; write it relative to that folder")
    if not is_file(folder / image):
        raise _WrongLine(f"there is no image {folder / image}; add it, or remove the line")
    if _is_long(header):
        names = [name.strip() for name in cells[0].split(LABEL_SEPARATOR)]
        return image.as_posix(), tuple(dict.fromkeys(filter(None, names)))
    for name, cell in zip(header[1:], cells, strict=True):
        if cell not in ("0", "1"):
            raise _WrongLine(f"{name} is '{cell}'; write 0 or 1")
    return image.as_posix(), tuple(name for name, cell in zip(header[1:], cells, strict=True) if cell == "1")


def _read_val(path: Path, trained: _List, tell: Tell, edition: Edition) -> _List:
    val = _read_list(path, tell, edition)
    if strange := [name for name in val.classes if name not in trained.classes]:
        raise UserError(f"{path} has the label '{strange[0]}', which no training image has; add it to {trained.path}")
    if val.by_column and (lacking := [name for name in trained.classes if name not in val.classes]):
        raise UserError(f"{path} lacks the column '{lacking[0]}' of {trained.path}; add it")
    if both := [image for image in val.labels if image in trained.labels]:
        raise UserError(f"{both[0]} is in {path} and in {trained.path}; keep it in one of them")
    return replace(val, classes=trained.classes)


def _gather(root: Path, given: _List) -> PhotoSplit:
    number_of = {name: number for number, name in enumerate(given.classes)}
    labels = np.zeros((len(given.labels), len(number_of)), np.int64)
    for row, names in enumerate(given.labels.values()):
        labels[row, [number_of[name] for name in names]] = 1
    return PhotoSplit(root, tuple(given.labels), labels)
