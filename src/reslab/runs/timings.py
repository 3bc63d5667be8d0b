"""How long a run took, how fast it was and what memory it needed, over all its sittings."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from itertools import pairwise

from reslab.runs.directory import RunDirectory
from reslab.runs.log import StepLog


@dataclass(frozen=True, kw_only=True)
class Timings:
    """Wall-clock, the median speed of training, and the most memory used; None where nothing was logged yet."""

    seconds: float | None = None
    images_per_second: float | None = None
    peak_memory_bytes: int | None = None


def read_timings(run: RunDirectory) -> Timings:
    """Sum up the timings of a run."""
    names = ("seconds", "images_per_second", "peak_memory_bytes")
    logged = StepLog(run.path / "timings.jsonl").read()
    entries = [entry for entry in logged if all(math.isfinite(entry.get(name, math.nan)) for name in names)]
    if not entries:
        return Timings()
    # The clock starts anew with each sitting, and steps are repeated from the checkpoint on: the entry before was last.
    last = [
        one["seconds"]
        for one, other in pairwise(entries)
        if other["seconds"] < one["seconds"] or other["step"] <= one["step"]
    ]
    return Timings(
        seconds=sum(last) + entries[-1]["seconds"],
        images_per_second=statistics.median(entry["images_per_second"] for entry in entries),
        peak_memory_bytes=int(max(entry["peak_memory_bytes"] for entry in entries)),
    )
