"""Bars and stopping."""

from __future__ import annotations

import os
import signal

import pytest
from rich.progress import Progress
from tests.runs_by_hand import as_task

from reslab.cli.terminal.progress import Name, Rate, StopSignals, TrialBars, make_bars, summarize
from reslab.paper.claim import Setting
from reslab.tasks.classification.scores import SCORES
from reslab.tasks.detection import scores as detection
from reslab.tasks.multilabel import scores as multilabel
from reslab.training.loop import Stopped

TRIALS = [Setting(network="plain-20", recipe="cifar-paper").trial(seed) for seed in (1, 2)]


@pytest.mark.parametrize(
    ("skipped", "words"),
    [
        ({}, ""),
        ({"skipped_images": 0, "skipped_training_images": 0}, ""),
        ({"skipped_images": 1}, "  (without 1 bad test image)"),
        ({"skipped_images": 1200}, "  (without 1,200 bad test images)"),
        (
            {"skipped_images": 1, "skipped_training_images": 2},
            "  (without 2 bad training images and 1 bad test image)",
        ),
    ],
)
def test_a_run_is_summed_up(skipped: dict[str, int], words: str) -> None:
    """By its errors, and the images that are in none; runs of early versions did not count them."""
    metrics = {"train_error_percent": 1, "test_error_percent": 9.5} | skipped
    assert summarize(metrics, SCORES) == f"training 1.00 %  test 9.50 % error{words}"


def test_where_a_resumed_run_begins_is_no_progress() -> None:
    """It moves the bars but says nothing about the rate; a finished trial's bar leaves the room to others."""
    clock = iter(range(1000))
    progress = Progress(get_time=lambda: float(next(clock)), disable=True)
    bars = TrialBars(progress, TRIALS)
    show = bars.begin(TRIALS[0])
    show(60_001, {})
    overall, bar = progress.tasks
    assert (overall.completed, bar.completed) == (60_001, 60_001)
    assert bar.speed is None
    for step in range(60_002, 60_012):
        show(step, {"train_error_percent": 1.0, "test_error_percent": 9.5})
    assert bar.speed is not None
    assert 0 < bar.speed < 2
    assert "plain-20 seed 1: 1.0 / 9.5 %" in bar.description
    bars.begin(TRIALS[1])(10, {})
    assert (overall.completed, overall.total) == (60_021, 128_000)
    assert [task.completed for task in progress.tasks[1:]] == [60_011, 10]
    show(64_000, {})
    assert [task.completed for task in progress.tasks] == [64_010, 10]


def test_a_bar_shows_what_lists_show() -> None:
    """Where images have several labels, the mean average precision too."""
    progress = Progress(disable=True)
    show = TrialBars(progress, TRIALS[:1]).begin(as_task(TRIALS[0], "multi-label"))
    show(1, {"train_error_percent": 1.0, "test_error_percent": 9.5, "test_map_percent": 87.65, "test_loss": 0.5})
    assert progress.tasks[1].description == "plain-20 seed 1: mAP 87.7 %, error 9.5 %"


def test_bars_do_not_move_at_every_iteration() -> None:
    """Only as often as one can see; at the end in any case."""
    now = 0.0
    progress = Progress(get_time=lambda: now, disable=True)
    show = TrialBars(progress, TRIALS[:1]).begin(TRIALS[0])
    seen = []
    for step in (1, 2, 3, 4, 5, 64_000):
        show(step, {})
        seen.append(progress.tasks[1].completed)
        now += 0.04
    assert seen == [1, 1, 1, 4, 4, 64_000]


@pytest.mark.parametrize(
    ("seconds", "unit", "words"),
    [(4.0, "it", "2.5 it/s"), (0.05, "it", "200 it/s"), (0.005, "images", "2,000 images/s")],
)
def test_a_rate_says_its_unit(seconds: float, unit: str, words: str) -> None:
    """Whatever is counted, and nothing before there is a rate."""
    now = 0.0
    progress = Progress(get_time=lambda: now, disable=True)
    bar = progress.add_task("", total=100)
    assert Rate(unit).render(progress.tasks[0]).plain == ""
    for done in (10, 20, 30):
        now += seconds
        progress.update(bar, completed=done)
    assert Rate(unit).render(progress.tasks[0]).plain == words


def test_the_bar_over_all_shows_only_for_several() -> None:
    """One trial needs one bar."""
    for trials in (TRIALS[:1], TRIALS):
        progress = Progress(disable=True)
        TrialBars(progress, trials)
        assert progress.tasks[0].visible == (len(trials) > 1)


def test_how_a_run_stands_says_the_balanced_error_where_it_is_another() -> None:
    """Where classes have different numbers of images; old results say nothing of it."""
    metrics = {"train_error_percent": 1.0, "test_error_percent": 9.5}
    assert (
        summarize(metrics, SCORES)
        == summarize(metrics | {"balanced_error_percent": None}, SCORES)
        == "training 1.00 %  test 9.50 % error"
    )
    told = summarize(metrics | {"balanced_error_percent": 30.25}, SCORES)
    assert told.endswith("9.50 % error (30.25 % with all classes counting the same)")
    labels = summarize(metrics | {"test_map_percent": 87.5, "error_percent": 9.5}, multilabel.SCORES)
    assert labels == "test 87.50 % mAP, error 9.50 % (any label of an image wrong)"


def test_how_a_run_stands_says_how_sure_that_is() -> None:
    """Of the headline, where results have an interval; what is only for pages is left out."""
    values = {"map50_percent": 40.0, "map50_95_percent": 17.5, "map50_11_point_percent": 41.0}
    result = {"test_map50_percent": 40.0, "map50_interval_percent": [31.25, 49.5]} | values
    assert (
        summarize(result, detection.SCORES) == "test 40.00 % mAP@.5 (95 % interval 31.25 to 49.50 %), "
        "mAP@[.5,.95] 17.50 %"
    )


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


def test_bars_show_foreign_names_as_they_are() -> None:
    """A run's folder may be called anything."""
    with make_bars() as progress:
        progress.add_task("\x1b[3m\x9b\u202e[red][/]", total=1)
        (name,) = [column for column in progress.columns if isinstance(column, Name)]
        assert name.render(progress.tasks[0]).plain == r"\x1b[3m\x9b\u202e[red][/]"


def test_without_a_terminal_evaluations_are_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """Each with the trial's name; nothing is drawn that only a terminal shows."""
    with make_bars() as progress:
        hear = TrialBars(progress, TRIALS).begin(TRIALS[0])
        hear(1, {})
        hear(2, {"step": 2, "train_loss": 0.5, "train_error_percent": 1.0, "test_error_percent": 9.5})
    told = capsys.readouterr().err
    assert told.startswith("plain-20 seed 1: step 2 of 64,000: loss 0.5000, training 1.00 %, test 9.50 % error, ")
    assert len(told.splitlines()) == 1
