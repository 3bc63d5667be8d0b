"""The instrument of convergence on runs as they are recorded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.analysis.convergence.test_fitting import make_log
from tests.trials import make_digits_trial

from reslab.analysis.convergence.measure import INSTRUMENT, list_curves
from reslab.analysis.convergence.settings import Convergence
from reslab.analysis.workbench import Workbench
from reslab.errors import UserError
from reslab.runs.directory import RunDirectory
from reslab.runs.log import StepLog
from reslab.spec.task import MultiLabel

FEW = {"resamples": 20}


def make_run(root: Path, name: str, log: list[dict[str, float]], **fields: float) -> RunDirectory:
    """A record of a training that never was."""
    trial = make_digits_trial(name, iterations=48, **fields)
    run = RunDirectory.of(trial, root)
    run.begin(trial, {})
    for entry in log:
        StepLog(run.path / "metrics.jsonl").append(entry | {"train_error_percent": 10 * entry["train_loss"]})
    return run


def test_curves_of_a_run_are_fitted(tmp_path: Path) -> None:
    """The headline first; its network is told, and nothing is to be reached."""
    run = make_run(tmp_path, "cifar-plain-8", make_log())
    found = INSTRUMENT.measure(run, Convergence(**FEW), Workbench())
    assert (found["network"], found["depth"], found["residual"]) == ("cifar-plain-8 channels=1 input_size=8", 8, False)
    error, loss = found["curves"]
    assert (error["log"], error["unit"], loss["log"], loss["unit"]) == ("train_error_percent", "%", "train_loss", "")
    rates = [curve["phases"][0]["laws"]["exponential"]["rate"] for curve in (error, loss)]
    assert rates == pytest.approx([0.2, 0.2], rel=0.05)
    assert found["against"] is None and "reach" not in loss["phases"][0]["laws"]["power"]
    assert found == INSTRUMENT.measure(run, Convergence(**FEW), Workbench())


def test_a_score_is_to_be_reached_by_the_headline_alone(tmp_path: Path) -> None:
    """In every phase the same."""
    run = make_run(tmp_path, "cifar-plain-8", make_log())
    error, loss = INSTRUMENT.measure(run, Convergence(reach=60, **FEW), Workbench())["curves"]
    assert [phase["laws"]["exponential"]["reach"]["value"] for phase in error["phases"]] == [60, 60]
    assert "reach" not in loss["phases"][0]["laws"]["exponential"]


def test_another_run_is_to_be_reached_phase_by_phase(tmp_path: Path) -> None:
    """It is in the same folder; where it has no such phase, nothing is."""
    run = make_run(tmp_path, "cifar-plain-8", make_log(5.0))
    rival = make_run(tmp_path, "cifar-resnet-8", make_log(3.0)[:32])
    found = INSTRUMENT.measure(run, Convergence(against="cifar-resnet-8", **FEW), Workbench())
    assert found["against"] == {"run": rival.path.name, "network": "cifar-resnet-8 channels=1 input_size=8"}
    first, second = found["curves"][1]["phases"]
    reach = first["laws"]["exponential"]["reach"]
    assert reach["value"] == pytest.approx(3.1, abs=0.2) and reach["iterations"] is None
    assert "reach" not in second["laws"]["exponential"]
    with pytest.raises(UserError, match="there is no run 'resnet-20'"):
        INSTRUMENT.measure(run, Convergence(against="resnet-20", **FEW), Workbench())


def test_a_rate_that_always_changes_has_no_phase(tmp_path: Path) -> None:
    """In one sentence."""
    log = [entry | {"learning_rate": 0.1 / (index + 1)} for index, entry in enumerate(make_log())]
    with pytest.raises(UserError, match="has no phase of one learning rate with 8 tests; give least= fewer"):
        INSTRUMENT.measure(make_run(tmp_path, "cifar-plain-8", log), Convergence(**FEW), Workbench())


def test_scores_that_are_the_better_the_higher_have_no_floor() -> None:
    """What falls is fitted, whatever the task calls it."""
    trial = make_digits_trial("cifar-plain-8")
    assert [score.key("train") for score in list_curves(trial)] == ["train_error_percent", "train_loss"]
    other = replace(trial, task=MultiLabel())
    assert all(score.better == "lower" for score in list_curves(other))
