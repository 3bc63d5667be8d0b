"""How long a run took, how fast it was and what memory it needed, over all its sittings."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
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


def list_timings(run: RunDirectory) -> list[dict[str, float]]:
    """Return what each evaluation of a run logged of speed, memory and wall-clock."""
    return StepLog(run.path / "timings.jsonl").read()


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
