"""What is read of files under a root, kept under the data root: it holds while a file has the same length and time.

A training opens its data in every process, and every time it goes on. COCO's annotations take seconds to parse and
more memory than anything after; of Pascal VOC and ImageNet there is a file for each image.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from reslab.errors import UserError
from reslab.files import atomic_write, data_root

VERSION = 1  # of what readers make of a file
SETTLED = 10**8  # nanoseconds: what changed a moment ago may change again before clocks of files have moved
State = tuple[int, int]  # a length and a time


class KeptFiles:
    """What was read of the files of one root, as plain data."""

    def __init__(self, root: Path) -> None:
        self.root, self.place = root, find_place(root, "objects.json")
        self.before = _read_kept(self.place)
        self.now: dict[str, tuple[State, Any]] = {}
        self.has_read = False

    def read(self, file: str, parse: Callable[[Path], Any]) -> Any:
        """Return what `parse` makes of a file, by its path under the root, or what it made of it as it still is."""
        state, (then, found) = find_state(self.root / file), self.before.get(file, (None, None))
        if state is None or then is None or tuple(then) != state:
            found, self.has_read = parse(self.root / file), True
        if state is not None and time.time_ns() - state[1] > SETTLED:
            self.now[file] = (state, found)
        return found

    def save(self) -> None:
        """Keep what was read; where that cannot be, it is read again."""
        if self.has_read or len(self.now) < len(self.before):
            with contextlib.suppress(UserError, RecursionError), atomic_write(self.place) as temporary:
                temporary.write_text(json.dumps({"version": VERSION, "files": self.now}), encoding="ascii")


@contextlib.contextmanager
def keep_files(root: Path) -> Iterator[KeptFiles]:
    """Give what was read of files before, and keep what is read now, unless something stops it."""
    kept = KeptFiles(root)
    yield kept
    kept.save()


def find_place(root: Path, ending: str) -> Path:
    """Return where things about a root are kept."""
    digest = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()
    return data_root() / "indexes" / f"{digest[:32]}-{ending}"


def find_state(path: Path) -> State | None:
    """Return by what a change of a file shows; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


def _read_kept(place: Path) -> dict[str, tuple[State, Any]]:
    """Return what is kept; nothing where that is not there, not whole, or another version's."""
    with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
        told = json.loads(place.read_bytes())
        if told["version"] == VERSION:
            return dict(told["files"])
    return {}
