"""`reslab train ... task.form=alternating`: a detector's four trials, one after the other, by one command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reslab.cli.terminal.show import SPEAKING, note, progress_console
from reslab.cli.train.one_trial import train_one
from reslab.runs.directory import RunDirectory
from reslab.spec.trial import Trial

if TYPE_CHECKING:
    from reslab.data.dataset import Dataset


def train_alternating(
    given: dict[str, str], root: Path, *, compile: bool, snapshots: str | None, dry_run: bool
) -> None:
    """Train the steps that are not finished, and say how those ended that are.

    With `dry_run`, print the first that is not: those after it start from its weights, which are not there yet.
    """
    with progress_console.status("loading"):
        from reslab.data.catalogue import open_data
        from reslab.experiments.alternating import train_in_turns
        from reslab.experiments.trials import read_held_out_seed

        dataset = open_data(given.get("data", "digits"), held_out_seed=read_held_out_seed(given), listener=SPEAKING)
    weights = given.pop("weights", None)

    def train(step: str, trial: Trial, dataset: Dataset, weights: str | Path) -> RunDirectory:
        run = RunDirectory.of(trial, root)
        if dry_run and run.state == "finished":
            return run
        note(step)
        train_one(
            trial,
            dataset,
            root,
            weights=str(weights),
            processes=1,
            command=[],
            compile=compile,
            snapshots=snapshots,
            dry_run=dry_run,
            notes=[],
        )
        return run

    last = train_in_turns(given, dataset, root, weights=weights, train=train, listener=SPEAKING)
    if dry_run and last.state == "finished":
        note(f"all steps are finished; the detector is {last.path}")
