"""Logs of one JSON object a line, in order of steps; on resume they are cut back to the checkpoint.

What the log of timings adds up to over all sittings of a run: how long it took, how fast it was, what memory it needed.
"""

import json
import math
import os
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from reslab.errors import UserError
from reslab.files import telling, write_text
from reslab.json_text import to_json

MOST_STEPS = 2**53


@dataclass(frozen=True)
class StepLog:
    """A file to which each line is appended whole."""

    path: Path

    def append(self, entry: dict[str, float]) -> None:
        """Add one entry, which must have a step, and see it to the disk: a checkpoint may count on it."""
        with telling(f"cannot write {self.path}", "free some space and run again"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a+b") as file:
                if file.tell():
                    file.seek(-1, os.SEEK_END)
                    if file.read(1) != b"\n":  # the last line was cut short
                        file.write(b"\n")
                file.write((to_json(entry) + "\n").encode())
                file.flush()
                os.fsync(file.fileno())

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
                    raise UserError(
                        f"{self.path} has a line that cannot be read ({error}); correct the line, or remove the run"
                    ) from error
                continue
            entries.append(entry)
        return entries

    def rewind(self, step: int, *, last: int) -> None:
        """Drop what was logged after `step`; what is left must end with the entry of `last`, if any (0: none)."""
        kept = [entry for entry in self.read() if entry["step"] <= step]
        if (kept[-1]["step"] if kept else 0) != last:
            raise UserError(
                f"{self.path} has no entry for iteration {last}, although a checkpoint was saved there; restore the "
                f"file from a copy, or remove the folder {self.path.parent} and train the run again"
            )
        if self.path.exists():
            write_text(self.path, "".join(to_json(entry) + "\n" for entry in kept))


PARTS_OF_BEST = ("train_", "test_", "validation_")


def join_best(log: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the last entry of a metric log; where the best weights were kept, with the scores of those."""
    last = log[-1]
    best = next((entry for entry in log if entry["step"] == last.get("best_step")), last)
    return {**last, **{name: value for name, value in best.items() if name.startswith(PARTS_OF_BEST)}}


@dataclass(frozen=True, kw_only=True)
class Timings:
    """Wall-clock, the median speed of training, and the most memory used; None where nothing was logged yet."""

    seconds: float | None = None
    images_per_second: float | None = None
    peak_memory_bytes: int | None = None


def sum_up(logged: Sequence[dict[str, float]]) -> Timings:
    """Sum up what was logged."""
    names = ("seconds", "images_per_second", "peak_memory_bytes")
    entries = [entry for entry in logged if all(math.isfinite(entry.get(name, math.nan)) for name in names)]
    if not entries:
        return Timings()
    last = [one["seconds"] for one, other in pairwise(entries) if _begins_a_sitting(other, after=one)]
    return Timings(
        seconds=sum(last) + entries[-1]["seconds"],
        images_per_second=statistics.median(entry["images_per_second"] for entry in entries),
        peak_memory_bytes=int(max(entry["peak_memory_bytes"] for entry in entries)),
    )


def last_sitting(logged: Sequence[dict[str, float]]) -> int:
    """Return the number of the sitting that logged last; 1 where nothing was, or older logs do not number them."""
    return int(logged[-1].get("sitting", 1)) if logged else 1


def _begins_a_sitting(entry: dict[str, float], *, after: dict[str, float]) -> bool:
    """Whether another sitting wrote it, with a clock of its own."""
    if "sitting" in entry and "sitting" in after:
        return entry["sitting"] != after["sitting"]
    # Older logs do not number them, but the clock falls back, or steps are repeated from the checkpoint on.
    return entry["seconds"] < after["seconds"] or entry["step"] <= after["step"]
