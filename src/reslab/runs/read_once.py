"""A run whose files are each parsed once, however many ask: what shows it and what judges it read the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from reslab.runs.directory import RunDirectory


@dataclass(frozen=True)
class ReadOnce(RunDirectory):
    """A run that remembers what it has read, for the length of a command; what cannot be read is tried again."""

    known: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def read(self, name: str) -> dict[str, Any]:
        """Read one of the JSON files, the first time."""
        if name not in self.known:
            self.known[name] = super().read(name)
        return self.known[name]

    def log(self, *, strict: bool = False) -> list[dict[str, float]]:
        """Read the metric log, the first time; where it stood the strict reading, that serves for both."""
        name = "strict log" if strict or "strict log" in self.known else "log"
        if name not in self.known:
            self.known[name] = super().log(strict=strict)
        return self.known[name]
