"""Trials that two processes train together, for tests: no dropout, which draws otherwise for each process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.experiments.faults import make_trial
from tests.trials import DIGITS

from reslab.experiments.run import run_trial
from reslab.runs.directory import RunDirectory
from reslab.runtime.listener import Listener
from reslab.runtime.processes import Processes
from reslab.spec.recipe import find_recipe
from reslab.spec.trial import Trial
from reslab.training.loop import Stopped

EXACT = {"iterations": 16, "batch": 32, "evaluate_every": 1, "precision": "fp32", "sync_norms": True}


def make_shared_trial(**options: object) -> Trial:
    """A trial with the whole batch normalized, of a second or so."""
    return make_trial(find_recipe("digits", EXACT | options), dropout=0.0, stochastic_depth=0.0)


def train(processes: Processes, trial: Trial, root: Path, stop_at: int | None = None) -> list[str]:
    """Train as one of `processes`; the last one alone wishes to stop at a step. Return the warnings."""
    warnings: list[str] = []
    step = 0

    def see(now: int, metrics: dict[str, float]) -> None:
        nonlocal step
        step = now

    try:
        run_trial(
            trial,
            DIGITS,
            root,
            processes=processes,
            listener=Listener(
                progress=see,
                warn=warnings.append,
                should_stop=lambda: (
                    stop_at is not None and step + 1 >= stop_at and processes.rank == processes.count - 1
                ),
            ),
        )
    except Stopped:
        assert step == stop_at
    return warnings


def metrics(trial: Trial, root: Path) -> list[dict[str, Any]]:
    """The metric log of a run."""
    return [json.loads(line) for line in (RunDirectory.of(trial, root).path / "metrics.jsonl").read_text().splitlines()]
