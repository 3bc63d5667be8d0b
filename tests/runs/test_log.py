"""Logs of steps."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from reslab.errors import UserError
from reslab.runs.directory import RunDirectory
from reslab.runs.log import StepLog, Timings, last_sitting, sum_up


def test_entries_come_back_exactly(tmp_path: Path) -> None:
    """Floats survive; a missing log is empty."""
    log = StepLog(tmp_path / "new" / "metrics.jsonl")
    assert log.read() == []
    log.append({"step": 1, "loss": 0.1 + 0.2})
    log.append({"step": 2, "loss": 1e-300})
    assert log.read() == [{"step": 1, "loss": 0.1 + 0.2}, {"step": 2, "loss": 1e-300}]


def test_a_half_written_line_does_not_count(tmp_path: Path) -> None:
    """It is gone after the next rewind, and harms no line appended to it."""
    log = StepLog(tmp_path / "metrics.jsonl")
    log.append({"step": 1})
    with log.path.open("a") as file:
        file.write('{"step": 2, "lo')
    assert log.read() == [{"step": 1}]
    log.rewind(1, last=1)
    assert log.path.read_text() == '{"step": 1}\n'
    with log.path.open("a") as file:
        file.write('{"step": 2, "lo')
    log.append({"step": 3})
    assert log.read() == [{"step": 1}, {"step": 3}]


def test_a_lost_entry_is_told(tmp_path: Path) -> None:
    """A checkpoint that has seen more than the log is not gone on from in silence."""
    log = StepLog(tmp_path / "metrics.jsonl")
    log.append({"step": 10})
    with pytest.raises(UserError, match=r"metrics\.jsonl has no entry for iteration 20"):
        log.rewind(25, last=20)


def test_rewinding_drops_what_came_later(tmp_path: Path) -> None:
    """To a step, or to the start."""
    log = StepLog(tmp_path / "metrics.jsonl")
    for step in (10, 20, 30):
        log.append({"step": step})
    log.rewind(20, last=20)
    assert [entry["step"] for entry in log.read()] == [10, 20]
    log.rewind(0, last=0)
    assert log.read() == []


def test_what_is_not_finite_is_null(tmp_path: Path) -> None:
    """A line is JSON; early versions wrote NaN, which is read as it was."""
    log = StepLog(tmp_path / "metrics.jsonl")
    log.append({"step": 1, "loss": math.nan, "rate": math.inf, "error": 0.5})
    assert log.path.read_text() == '{"step": 1, "loss": null, "rate": null, "error": 0.5}\n'
    with log.path.open("a") as file:
        file.write('{"step": 2, "loss": NaN}\n')
    first, second = log.read(strict=True)
    assert first == {"step": 1, "loss": None, "rate": None, "error": 0.5}
    assert math.isnan(second["loss"])


def test_sittings_add_up(tmp_path: Path) -> None:
    """The clock of each begins anew, or a step comes again; speed is the median, memory the most."""
    run = RunDirectory(tmp_path)
    assert sum_up(run.timings()) == Timings()
    entries = ((1, 10, 100, 5), (2, 20, 110, 7), (3, 8, 10, 6), (4, 16, 120, 6), (4, 24, 130, 6))
    for step, seconds, rate, peak in entries:
        StepLog(tmp_path / "timings.jsonl").append(
            {"step": step, "seconds": seconds, "images_per_second": rate, "peak_memory_bytes": peak}
        )
    assert sum_up(run.timings()) == Timings(seconds=20 + 16 + 24, images_per_second=110, peak_memory_bytes=7)


def test_numbered_sittings_add_up_whatever_their_clocks_say(tmp_path: Path) -> None:
    """The second took longer to its first evaluation than the first had taken in all."""
    for sitting, step, seconds in ((1, 1000, 100), (2, 2000, 101), (2, 3000, 150)):
        entry = {"step": step, "seconds": seconds, "images_per_second": 1, "peak_memory_bytes": 1, "sitting": sitting}
        StepLog(tmp_path / "timings.jsonl").append(entry)
    assert sum_up(RunDirectory(tmp_path).timings()).seconds == 100 + 150
    assert last_sitting(RunDirectory(tmp_path).timings()) == 2


def test_where_sittings_have_no_numbers_there_was_one_for_all_we_know() -> None:
    """In older logs, and where nothing was logged."""
    assert last_sitting([]) == last_sitting([{"step": 1, "seconds": 1.0}]) == 1
