"""Logs of one JSON object a line, in order of steps; on resume they are cut back to the checkpoint."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from reslab.errors import UserError
from reslab.files import write_text


@dataclass(frozen=True)
class StepLog:
    """A file to which each line is appended whole."""

    path: Path

    def append(self, entry: dict[str, float]) -> None:
        """Add one entry; it must have a step."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
        except OSError as error:
            raise UserError(f"cannot write {self.path}: {error.strerror}; free some space and run again") from error

    def read(self) -> list[dict[str, float]]:
        """Return the entries; a last line cut short by a crash does not count."""
        if not self.path.exists():
            return []
        lines = self.path.read_text(encoding="utf-8").splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def rewind(self, step: int) -> None:
        """Drop what was logged after `step`."""
        kept = [entry for entry in self.read() if entry["step"] <= step]
        if self.path.exists() or kept:
            write_text(self.path, "".join(json.dumps(entry) + "\n" for entry in kept))
