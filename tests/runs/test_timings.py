"""Timings over several sittings."""

from __future__ import annotations

from pathlib import Path

from reslab.runs.directory import RunDirectory
from reslab.runs.log import StepLog
from reslab.runs.timings import Timings, last_sitting, list_timings, sum_up


def test_sittings_add_up(tmp_path: Path) -> None:
    """The clock of each begins anew, or a step comes again; speed is the median, memory the most."""
    run = RunDirectory(tmp_path)
    assert sum_up(list_timings(run)) == Timings()
    entries = ((1, 10, 100, 5), (2, 20, 110, 7), (3, 8, 10, 6), (4, 16, 120, 6), (4, 24, 130, 6))
    for step, seconds, rate, peak in entries:
        StepLog(tmp_path / "timings.jsonl").append(
            {"step": step, "seconds": seconds, "images_per_second": rate, "peak_memory_bytes": peak}
        )
    assert sum_up(list_timings(run)) == Timings(seconds=20 + 16 + 24, images_per_second=110, peak_memory_bytes=7)


def test_numbered_sittings_add_up_whatever_their_clocks_say(tmp_path: Path) -> None:
    """The second took longer to its first evaluation than the first had taken in all."""
    for sitting, step, seconds in ((1, 1000, 100), (2, 2000, 101), (2, 3000, 150)):
        entry = {"step": step, "seconds": seconds, "images_per_second": 1, "peak_memory_bytes": 1, "sitting": sitting}
        StepLog(tmp_path / "timings.jsonl").append(entry)
    assert sum_up(list_timings(RunDirectory(tmp_path))).seconds == 100 + 150
    assert last_sitting(list_timings(RunDirectory(tmp_path))) == 2


def test_where_sittings_have_no_numbers_there_was_one_for_all_we_know() -> None:
    """In older logs, and where nothing was logged."""
    assert last_sitting([]) == last_sitting([{"step": 1, "seconds": 1.0}]) == 1
