"""Detections as COCO writes them down: a JSON list of entries with image_id, category_id, bbox (x, y, w, h) and score.

A file is read entry by entry, so that it takes no more memory than its numbers; entries may have more fields. Boxes are
written as exactly as they are known.
"""

import json
import math
import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO, TypeAlias

import numpy as np

from reslab.errors import UserError
from reslab.files import atomic_write, telling
from reslab.json_text import to_json
from reslab.numbers import write_size
from reslab.tasks.detection.rows import Detections

Id: TypeAlias = int | str

MOST_BYTES = 4 * 2**30
LONGEST_ENTRY = 2**16  # characters; one of a box alone has some 150
AT_ONCE = 2**20  # characters
ENTRIES_AT_ONCE = 10_000
TOO_LARGE = 1e9  # pixels
MOST_SHOWN = 60  # characters of a wrong value
FIELDS = ("image_id", "category_id", "bbox", "score")
SPACE = re.compile(r"[ \t\r\n]*")
REMEDY = 'write [{"image_id": 1, "category_id": 1, "bbox": [x, y, width, height], "score": 0.5}, …]'


def write_results(path: Path, detections: Detections, *, image_ids: Sequence[Id], category_ids: Sequence[Id]) -> None:
    """Write detections; the ids are those of the images and classes, in order."""
    sides = np.concatenate([detections.box[:, :2], detections.box[:, 2:] - detections.box[:, :2]], 1)
    with atomic_write(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        file.write("[")
        for first in range(0, len(sides), ENTRIES_AT_ONCE):
            here = slice(first, first + ENTRIES_AT_ONCE)
            columns = (detections.image[here], detections.label[here], sides[here], detections.score[here])
            entries = [
                dict(zip(FIELDS, (image_ids[image], category_ids[label], box, score), strict=True))
                for image, label, box, score in zip(*(column.tolist() for column in columns), strict=True)
            ]
            file.write(",\n" * bool(first) + ",\n".join(to_json(entry) for entry in entries))
        file.write("]\n")


def read_results(path: Path, *, image_ids: Sequence[Id], category_ids: Sequence[Id]) -> Detections:
    """Read detections in the images and of the classes of these ids, in order; or refuse the file and say why."""
    images, categories = ({one: place for place, one in enumerate(ids)} for ids in (image_ids, category_ids))
    places, numbers = array("q"), array("d")
    with telling(f"{path} cannot be read", "check the path and its permissions"):
        if (size := path.stat().st_size) > MOST_BYTES:
            raise UserError(f"{path} has {write_size(size)}, more than {write_size(MOST_BYTES)}; keep fewer detections")
        with path.open(encoding="utf-8") as file:
            for number, entry in enumerate(_Entries(file, path), 1):
                where = f"entry {number:,} of {path}"
                if not isinstance(entry, dict) or not entry.keys() >= set(FIELDS):
                    raise UserError(f"{where} does not have {', '.join(FIELDS)}; {REMEDY}")
                places.append(_find_place(entry["image_id"], images, f"image_id in {where}"))
                places.append(_find_place(entry["category_id"], categories, f"category_id in {where}"))
                numbers.extend(_read_box(entry["bbox"], f"bbox in {where}"))
                numbers.append(_read_number(entry["score"], f"score in {where}"))
    image, label = np.array(places, np.int64).reshape(-1, 2).T
    values = np.array(numbers, np.float64).reshape(-1, 5)
    values[:, 2:4] += values[:, :2]
    return Detections(image=image, label=label, box=values[:, :4], score=values[:, 4])


class _Entries:
    """The entries of a JSON list; no more of its text is in memory than a few of them need."""

    def __init__(self, file: TextIO, path: Path) -> None:
        self.file, self.path = file, path
        self.text, self.place = "", 0
        self.decoder = json.JSONDecoder()

    def __iter__(self) -> Iterator[Any]:
        if self._take_mark() != "[":
            raise UserError(f"{self.path} is not a list of detections; {REMEDY}")
        number, mark = 0, self._peek()
        if mark == "]":
            self._take_mark()
        while mark != "]":
            number += 1
            yield self._take_entry(number)
            mark = self._take_mark()
            if mark not in (",", "]"):
                raise UserError(f"{self.path} is damaged after entry {number:,}, or cut off; write it again")
        if self._peek():
            raise UserError(f"{self.path} goes on after its list; {REMEDY}")

    def _peek(self) -> str:
        """Return the next character that is no space; none at the end."""
        while True:
            spaces = SPACE.match(self.text, self.place)
            self.place = spaces.end() if spaces else self.place
            if self.place < len(self.text) or not self._read_on():
                return self.text[self.place : self.place + 1]

    def _take_mark(self) -> str:
        mark = self._peek()
        self.place += len(mark)
        return mark

    def _take_entry(self, number: int) -> Any:
        self._peek()
        if len(self.text) - self.place <= LONGEST_ENTRY:
            self._read_on()
        try:
            entry, end = self.decoder.raw_decode(self.text, self.place)
        except (ValueError, RecursionError):
            entry, end = None, len(self.text) + LONGEST_ENTRY + 1
        if end - self.place > LONGEST_ENTRY:
            raise UserError(f"entry {number:,} of {self.path} is no JSON, or very long; {REMEDY}")
        self.place = end
        return entry

    def _read_on(self) -> bool:
        """Forget what was taken and read more; False at the end."""
        try:
            more = self.file.read(AT_ONCE)
        except UnicodeDecodeError as error:
            raise UserError(f"{self.path} is no JSON, but another kind of file; {REMEDY}") from error
        self.text, self.place = self.text[self.place :] + more, 0
        return bool(more)


def _find_place(value: Any, known: Mapping[Id, int], where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str) or value not in known:
        raise UserError(f"{where} is {_show(value)}, which the data do not have; test on the data it was made for")
    return known[value]


def _read_box(value: Any, where: str) -> tuple[float, ...]:
    if not isinstance(value, list) or len(value) != 4:
        raise UserError(f"{where} is {_show(value)}; give four numbers: x, y, width, height")
    box = tuple(_read_number(one, where) for one in value)
    if min(box[2:]) < 0:
        raise UserError(f"{where} is {_show(value)}, of negative size; give x, y, width, height")
    return box


def _read_number(value: Any, where: str) -> float:
    try:
        number = math.nan if isinstance(value, bool | str) else float(value)
    except (TypeError, OverflowError):
        number = math.nan
    if not abs(number) < TOO_LARGE:
        raise UserError(f"{where} has {_show(value)}; give finite numbers below {TOO_LARGE:g}")
    return number


def _show(value: Any) -> str:
    words = repr(value)
    return words if len(words) <= MOST_SHOWN else f"{words[:MOST_SHOWN]}…"
