"""Logs of steps."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from reslab.errors import UserError
from reslab.runs.log import StepLog


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
    with pytest.raises(UserError, match=r"metrics\.jsonl lacks the entry of iteration 20"):
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
