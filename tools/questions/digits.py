"""Small runs on the digits that come with the package, for what no run on CIFAR-10 has weights for: results/digits."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from reslab.runs.directory import RunDirectory, list_runs
from reslab.spec import find
from reslab.spec.trial import Trial
from tools import RESULTS

FOLDER = RESULTS / "digits"
DIGITS = {"channels": 1, "input_size": 8}


@functools.cache
def _list_all() -> Sequence[tuple[RunDirectory, Trial]]:
    return [(run, run.trial()) for run in list_runs(FOLDER)]


def find_runs(network: str, *, started: bool = False, rate: float | None = None, **fields: Any) -> list[RunDirectory]:
    """Return the runs of a network by its seeds, those that started from weights or the others, at a learning rate."""
    spec = find(network, {**DIGITS, **fields})
    found = [
        (trial.seed, run)
        for run, trial in _list_all()
        if trial.network == spec
        and (trial.start is not None) is started
        and rate in (None, trial.recipe.optimizer.learning_rate)
    ]
    assert found, f"{FOLDER} has no run of {network}"
    return [run for _, run in sorted(found, key=lambda one: one[0])]


def error_of(run: RunDirectory) -> float:
    """Return a run's test error, in percent."""
    return run.result()["test_error_percent"]


def write_range(values: Sequence[float], form: str = ".1f") -> str:
    """Write the least and the most of seeds: 2.3 to 2.8, or what they all are."""
    low, high = (f"{value:{form}}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"
