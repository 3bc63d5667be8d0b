"""A line for each evaluation says what a bar would: how far, how well, how fast, how long."""

from __future__ import annotations

import pytest
from tests.trials import make_digits_trial

from reslab.experiments import lines
from reslab.experiments.lines import write_lines


def evaluated(step: int) -> dict[str, float]:
    """The metrics of an evaluation."""
    return {"step": step, "train_loss": 0.51234, "train_error_percent": 12.5, "test_error_percent": 15.25}


def test_a_line_is_written_when_an_evaluation_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between evaluations there is none; the rate is that since the line before, and the last says of no time left."""
    clock = iter([100.0, 101.0, 102.0, 110.0, 122.0, 162.0])
    monkeypatch.setattr(lines.time, "monotonic", lambda: next(clock))
    trial = make_digits_trial(iterations=100, batch=10, evaluate_every=20)
    written: list[str] = []
    hear = write_lines(trial, name="seed 3: ", write=written.append)
    hear(41, {})
    hear(51, {})
    hear(60, evaluated(60))
    hear(61, evaluated(60))
    hear(80, evaluated(80))
    hear(100, evaluated(100))
    scores = "loss 0.5123, training 12.50 %, test 15.25 % error"
    assert written == [
        f"seed 3: step 60 of 100: {scores}, 95 images a second, about 4 s left",
        f"seed 3: step 80 of 100: {scores}, 10 images a second, about 20 s left",
        f"seed 3: step 100 of 100: {scores}, 5 images a second",
    ]


def test_the_first_iteration_has_no_rate() -> None:
    """Nothing was timed yet."""
    trial, written = make_digits_trial(iterations=100), list[str]()
    write_lines(trial, write=written.append)(1, evaluated(1))
    assert written == ["step 1 of 100: loss 0.5123, training 12.50 %, test 15.25 % error"]
