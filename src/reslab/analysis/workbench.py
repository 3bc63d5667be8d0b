"""Where an instrument works: who listens, the parts that an interrupted measurement kept, and the arrays it leaves.

A part is one .npz file, written whole or not at all, so whoever is killed goes on after the last one. Parts belong to
one measurement: those of another subject, or by other settings, are thrown away. No torch.
"""

import contextlib
import json
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reslab.files import atomic_write, write_text
from reslab.json_text import to_json
from reslab.runtime.listener import DEAF, Listener

Arrays = Mapping[str, NDArray[Any]]
ABOUT = "about.json"


class Workbench:
    """A measurement's place, `FOLDER/NAME` without an ending, and what the measurement is `about`, as plain data.

    Without a place nothing is kept, and the same code measures.
    """

    def __init__(
        self, listener: Listener = DEAF, *, place: Path | None = None, about: Mapping[str, Any] | None = None
    ) -> None:
        self.listener, self.place = listener, place
        self._about = to_json(about or {}, indent=2, sort_keys=True) + "\n"

    @property
    def parts(self) -> Path | None:
        """Where parts are kept."""
        return self.place and self.place.with_name(f"{self.place.name}.parts")

    def resume(self, part: str) -> dict[str, NDArray[Any]] | None:
        """Return what an interrupted measurement had kept under this name; None where there is nothing."""
        if self.parts is None or not self._is_own(self.parts):
            return None
        try:
            with np.load(self.parts / f"{part}.npz", allow_pickle=False) as kept:
                return {name: kept[name] for name in kept.files}
        except (OSError, ValueError, EOFError, zipfile.BadZipFile):
            return None

    def keep(self, part: str, arrays: Arrays) -> None:
        """Keep a part, to go on from it."""
        if self.parts is None:
            return
        if not self._is_own(self.parts):
            shutil.rmtree(self.parts, ignore_errors=True)
            write_text(self.parts / ABOUT, self._about)
        _write_arrays(self.parts / f"{part}.npz", arrays)

    def store(self, arrays: Arrays) -> None:
        """Store what belongs beside the findings, in one file."""
        if self.place is not None:
            _write_arrays(self.place.with_name(f"{self.place.name}.npz"), arrays)

    def clear(self) -> None:
        """Remove the parts: the measurement is whole."""
        if self.parts is not None:
            shutil.rmtree(self.parts, ignore_errors=True)

    def _is_own(self, parts: Path) -> bool:
        with contextlib.suppress(OSError, ValueError):
            return json.loads((parts / ABOUT).read_text(encoding="utf-8")) == json.loads(self._about)
        return False


def _write_arrays(path: Path, arrays: Arrays) -> None:
    with atomic_write(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **{name: np.asarray(array) for name, array in arrays.items()})
