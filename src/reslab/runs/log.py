"""Logs of one JSON object a line, in order of steps; on resume they are cut back to the checkpoint."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from reslab.errors import UserError
from reslab.files import write_text
from reslab.json_text import to_json

MOST_STEPS = 2**53


@dataclass(frozen=True)
class StepLog:
    """A file to which each line is appended whole."""

    path: Path

    def append(self, entry: dict[str, float]) -> None:
        """Add one entry, which must have a step, and see it to the disk: a checkpoint may count on it."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a+b") as file:
                if file.tell() and self._ends_cut_short():
                    file.write(b"\n")
                file.write((to_json(entry) + "\n").encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise UserError(f"cannot write {self.path}: {error.strerror}; free some space and run again") from error

    def read(self, *, strict: bool = False) -> list[dict[str, float]]:
        """Return the entries; a line cut short by a crash does not count, or, if `strict`, only as the last one."""
        if not self.path.exists():
            return []
        entries = []
        for line in self.path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True):
            try:
                entry = json.loads(line)
                if not 0 <= entry["step"] < MOST_STEPS or entry["step"] != int(entry["step"]):
                    raise ValueError(f"step is {entry['step']}")
            except (ValueError, LookupError, TypeError, RecursionError) as error:
                if strict and line.endswith("\n"):
                    raise UserError(f"{self.path} has a line that cannot be read ({error}); remove the run") from error
                continue
            entries.append(entry)
        return entries

    def rewind(self, step: int, *, last: int) -> None:
        """Drop what was logged after `step`; what is left must end with the entry of `last`, if any (0: none)."""
        kept = [entry for entry in self.read() if entry["step"] <= step]
        if (kept[-1]["step"] if kept else 0) != last:
            raise UserError(
                f"{self.path} lacks the entry of iteration {last}, which the checkpoint has seen; "
                "bring it back, or remove the run to train it again"
            )
        if self.path.exists() or kept:
            write_text(self.path, "".join(to_json(entry) + "\n" for entry in kept))

    def _ends_cut_short(self) -> bool:
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"
