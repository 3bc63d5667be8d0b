"""How wide and high images are, read from the heads of their files, and kept under the data root.

What is kept of a file holds as long as it has the same length and time.
"""

from __future__ import annotations

import contextlib
import os
import zipfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from reslab.data.objects.kept_files import State, find_place, find_state
from reslab.data.photos.pixels import read_size
from reslab.data.reading import BadImage
from reslab.errors import UserError
from reslab.files import atomic_write

UNKNOWN = (0, 0)  # of an image that cannot be read, which reading it tells


def measure_images(root: Path, files: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return the width and height of files under a root, by their paths."""
    place = find_place(root, "sizes.npz")
    known = _read_kept(place)
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # waiting for a disk lets Python's lock go
        states = dict(zip(files, pool.map(lambda file: find_state(root / file), files), strict=True))
        new = [file for file, state in states.items() if file not in known or known[file][0] != state]
        sizes = dict(zip(new, pool.map(lambda file: _measure(root / file), new), strict=True))
    found = {file: sizes[file] if file in sizes else known[file][1] for file in states}
    if new:
        kept = {file: (state, found[file]) for file, state in states.items() if state and found[file] != UNKNOWN}
        # Where they cannot be kept, they are measured again.
        with contextlib.suppress(UserError), atomic_write(place) as temporary, temporary.open("wb") as file:
            numbers = np.array([[*state, *size] for state, size in kept.values()], np.int64).reshape(-1, 4)
            np.savez(file, names=np.frombuffer(os.fsencode("\0".join(kept)), np.uint8), numbers=numbers)
    return found


def _read_kept(place: Path) -> dict[str, tuple[State, tuple[int, int]]]:
    """Return what is kept of files; nothing where that is not there, or not whole."""
    with contextlib.suppress(OSError, EOFError, ValueError, LookupError, zipfile.BadZipFile), place.open("rb") as file:
        kept = dict(np.load(file, allow_pickle=False))
        names, numbers = os.fsdecode(kept["names"].tobytes()).split("\0"), kept["numbers"]
        return {
            name: ((length, time), (width, height))
            for name, (length, time, width, height) in zip(names, numbers.tolist(), strict=True)
        }
    return {}


def _measure(path: Path) -> tuple[int, int]:
    try:
        return read_size(path)
    except BadImage:
        return UNKNOWN
