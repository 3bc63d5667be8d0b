"""Trials that are not finished become runs, and what claims ask for is measured."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest
from tests.experiments.test_expand import DATASET

from reslab.data.arrays.dataset import ArrayDataset
from reslab.experiments import together
from reslab.experiments.reproduce import plan_runs, reproduce
from reslab.paper.claims import CLAIMS
from reslab.runs.directory import RunDirectory
from reslab.runtime.listener import Listener
from reslab.spec.trial import Trial
from reslab.training.loop import Stopped


def test_only_what_is_missing_is_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every run is measured, also one that was finished before."""
    plan = plan_runs(CLAIMS["fig-1"], DATASET, tmp_path, seeds=2, together=1)
    trials = list(plan.trials)
    ran: list[Trial] = []

    def run_trial(trial: Trial, dataset: ArrayDataset, root: Path, **_: object) -> None:
        ran.append(trial)
        RunDirectory.of(trial, root).finish({})

    monkeypatch.setattr(together, "run_trial", run_trial)
    RunDirectory.of(trials[1], tmp_path).finish({})
    measured: list[str] = []
    note = "reslab.experiments.reproduce._measure"
    monkeypatch.setattr(note, lambda plan, run, setting, listener: measured.append(run.path.name))
    reproduce(plan, listener=Listener())
    assert {trial.id for trial in ran} == {trial.id for trial in trials} - {trials[1].id}
    assert len(ran) == len(trials) - 1
    assert measured == [trial.id for trial in trials]


def test_a_wish_to_stop_ends_it_between_trials_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Before the next one begins."""
    monkeypatch.setattr(together, "run_trial", lambda *_, **__: pytest.fail("it ran"))
    with pytest.raises(Stopped):
        reproduce(plan_runs(CLAIMS["fig-1"], DATASET, tmp_path), listener=Listener(should_stop=lambda: True))


def test_a_plan_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Before and after; its fields are those of the command line, typed or as text."""
    claims = [claim for claim in CLAIMS["table-6"] if claim.row == "ResNet-20"]

    def run_trial(trial: Trial, dataset: ArrayDataset, root: Path, *, listener: Listener, **_: object) -> None:
        listener.progress(trial.recipe.iterations, {})
        RunDirectory.of(trial, root).finish({})

    monkeypatch.setattr(together, "run_trial", run_trial)
    plan = plan_runs(claims, DATASET, tmp_path, seeds=2, fields={"recipe.iterations": 2})
    assert plan.trials == plan_runs(claims, DATASET, tmp_path, seeds=2, fields={"recipe.iterations": "2"}).trials
    assert (plan.missing, plan.together) == (list(plan.trials), 8 if plan.device == "cuda" else 1)
    steps: list[tuple[int, int]] = []
    reproduce(
        plan,
        listener=Listener(
            enter=lambda trial, total: nullcontext(lambda step, metrics: steps.append((trial.seed, step)))
        ),
    )
    assert (plan.missing, steps) == ([], [(1, 2), (2, 2)])
