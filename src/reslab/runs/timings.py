"""How long a run took, how fast it was and what memory it needed, over all its sittings."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from itertools import pairwise

from reslab.runs.directory import RunDirectory
from reslab.runs.log import StepLog


@dataclass(frozen=True, kw_only=True)
class Timings:
    """Wall-clock, the median speed of training, and the most memory used."""

    seconds: float
    images_per_second: float
    peak_memory_bytes: float


def read_timings(run: RunDirectory) -> Timings | None:
    """Sum up the timings of a run; None if it logged none yet."""
    entries = StepLog(run.path / "timings.jsonl").read()
    if not entries:
        return None
    # The clock starts anew with each sitting, so where it falls the entry before was a sitting's last.
    last = [one["seconds"] for one, other in pairwise(entries) if other["seconds"] < one["seconds"]]
    return Timings(
        seconds=sum(last) + entries[-1]["seconds"],
        images_per_second=statistics.median(entry["images_per_second"] for entry in entries),
        peak_memory_bytes=max(entry["peak_memory_bytes"] for entry in entries),
    )
