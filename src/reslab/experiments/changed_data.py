"""Photographs that are no longer what a run was trained on: why that run is not found, and what to do about it.

A trial knows its data by content. Remove a photograph or rename the folder, and the same command is another trial.
"""

import contextlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from reslab.data.dataset import Dataset
from reslab.errors import UserError
from reslab.runs.directory import RunDirectory, list_runs
from reslab.runs.origins import count_images
from reslab.runtime.listener import Listener
from reslab.spec.codec import flatten
from reslab.spec.trial import Trial, trial_to_dict

NAMED = ("data.name", "data.fingerprint")
# What else a trial on changed photographs may differ in: epochs are other numbers of iterations, a class may be gone.
FOLLOWING = ("network.classes", "recipe.iterations", "recipe.evaluate_every")


def tell_of_changed_data(trials: Sequence[Trial], dataset: Dataset, root: Path, listener: Listener) -> None:
    """Say which run has the settings of one of these new trials, but had other photographs, or another name of them."""
    if not dataset.has_files:
        return
    renamed, changed = ([_list_settings(trial, besides) for trial in trials] for besides in ((), FOLLOWING))
    alike = [
        (run, trial)
        for run, trial in _read_trials(root)
        if (trial.data.fingerprint == dataset.fingerprint and _list_settings(trial) in renamed)
        or (
            trial.data.fingerprint != dataset.fingerprint
            and trial.data.name == dataset.name
            and _list_settings(trial, FOLLOWING) in changed
        )
    ]
    if not alike:
        return
    run, trial = max(alike, key=lambda one: (one[0].path / "trial.json").stat().st_mtime)
    finished = run.state == "finished"
    use = "use" if finished else "resume"
    if trial.data.fingerprint == dataset.fingerprint:
        listener.warn(
            f"{run.path} was trained on the same images in a folder named {trial.data.name}, so this is a new run; "
            f"rename the folder to {trial.data.name} to {use} the old one"
        )
        return
    start = f", or start from its weights with weights={run.weights}" if finished else ""
    listener.warn(
        f"{describe_change(run, dataset)}, so this is a new run; restore the images to {use} the old one{start}"
    )


def describe_change(run: RunDirectory, dataset: Dataset) -> str:
    """Say that a dataset has changed since a run was trained on it, with its numbers of images if those are known."""
    told = f"{dataset.name} has changed since {run.path} was trained on it"
    now, then = (len(dataset.train), len(dataset.test)), count_images(run)
    if then == now:
        return f"{told} (the same number of images, but different names, sizes or classes)"
    if then is None:
        return told
    return f"{told} ({now[0]:,} training and {now[1]:,} test images now, {then[0]:,} and {then[1]:,} before)"


def _read_trials(root: Path) -> Iterable[tuple[RunDirectory, Trial]]:
    for run in list_runs(root):
        with contextlib.suppress(UserError):  # a damaged one, which `reslab runs` tells
            yield run, run.trial()


def _list_settings(trial: Trial, besides: Sequence[str] = ()) -> dict[str, Any]:
    fields = flatten(trial_to_dict(trial))
    return {field: value for field, value in fields.items() if field not in (*NAMED, *besides)}
