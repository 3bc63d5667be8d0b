"""Bars and stopping."""

from __future__ import annotations

import os
import signal

import pytest
from rich.progress import Progress

from reslab.cli.progress import StopSignals, TrialBars
from reslab.paper.claims import Setting
from reslab.training.loop import Stopped

TRIALS = [Setting(network="plain-20", recipe="cifar-paper").trial(seed) for seed in (1, 2)]


def test_where_a_resumed_run_begins_is_no_progress() -> None:
    """It moves the bars but says nothing about the rate, and the second trial stands on the first."""
    clock = iter(range(1000))
    progress = Progress(get_time=lambda: float(next(clock)), disable=True)
    bars = TrialBars(progress, TRIALS)
    show = bars.begin(TRIALS[0])
    show(60_001, {})
    assert [task.completed for task in progress.tasks] == [60_001, 60_001]
    assert progress.tasks[0].speed is None
    for step in range(60_002, 60_012):
        show(step, {"train_error_percent": 1.0, "test_error_percent": 9.5})
    assert progress.tasks[0].speed is not None
    assert 0 < progress.tasks[0].speed < 2
    assert "plain-20 seed 1: 1.0 / 9.5 %" in progress.tasks[0].description
    bars.begin(TRIALS[1])(10, {})
    assert [task.completed for task in progress.tasks] == [10, 64_010]
    assert progress.tasks[1].total == 128_000


def test_the_bar_over_all_shows_only_for_several() -> None:
    """One trial needs one bar."""
    for trials in (TRIALS[:1], TRIALS):
        progress = Progress(disable=True)
        TrialBars(progress, trials)
        assert progress.tasks[1].visible == (len(trials) > 1)


def test_a_second_signal_stops_at_once() -> None:
    """The first is a wish; handlers are put back afterwards."""
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), StopSignals() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.wanted()
        os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before


def test_only_a_stop_that_was_asked_for_ends_with_the_signals_code() -> None:
    """Another error stays that error."""
    with pytest.raises(SystemExit) as end, StopSignals():
        os.kill(os.getpid(), signal.SIGINT)
        raise Stopped
    assert end.value.code == 130
    with pytest.raises(ValueError, match="other"), StopSignals():
        os.kill(os.getpid(), signal.SIGINT)
        raise ValueError("other")
