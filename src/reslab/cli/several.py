"""Several trials by one command: what they will need, and `reslab train A.toml B.toml` or `--seeds N`."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from reslab.cli.progress import StopSignals, TrialBars, make_bars
from reslab.cli.show import console, make_table, progress_console, warn
from reslab.errors import UserError
from reslab.numbers import about, percent, write_size
from reslab.runs.directory import RunDirectory
from reslab.spec import name_of
from reslab.spec.trial import Trial

if TYPE_CHECKING:
    from reslab.data.dataset import Dataset
    from reslab.data.photos.folder import PhotoDataset

MOST_TOGETHER = 32  # torch has so many streams of a kind


def refuse_numbers(*, seeds: int | None, together: int | None) -> None:
    """Refuse numbers of seeds and of trials at once that cannot be."""
    if seeds is not None and seeds < 1:
        raise UserError(f"--seeds is {seeds}; give a whole number of at least 1")
    if together is not None and not 1 <= together <= MOST_TOGETHER:
        raise UserError(f"--together is {together}; give a whole number from 1 to {MOST_TOGETHER}")


def train_several(
    trials: Sequence[Trial],
    dataset: Dataset | PhotoDataset,
    root: Path,
    *,
    weights: str | Path | None,
    together: int | None,
    compile: bool,
    dry_run: bool,
) -> None:
    """Train what is not finished of `trials`, some at once, and print how all of them ended."""
    with progress_console.status("loading"):
        from reslab.data.photos.folder import PhotoDataset
        from reslab.experiments.mending import find_loss
        from reslab.experiments.starting import refuse_other_start
        from reslab.experiments.tasks import list_doubts, refuse_unfit_trial
        from reslab.experiments.together import most_together, refuse_failures, run_together
        from reslab.networks.execution import choose_device

    device = choose_device()
    together = together or (1 if isinstance(dataset, PhotoDataset) else most_together(device))
    runs = {trial: RunDirectory.of(trial, root) for trial in trials}
    missing = [trial for trial, run in runs.items() if run.state != "finished" or find_loss(run)]
    for trial in missing:
        refuse_unfit_trial(trial, dataset)
        if not dry_run:
            runs[trial].refuse_held()
        if runs[trial].state == "new":
            refuse_other_start(trial, weights)
    for doubt in dict.fromkeys(doubt for trial in missing for doubt in list_doubts(trial, dataset, device=device)):
        warn(doubt)
    tell_needs(trials, missing, dataset, root, together=together, device=device)
    failures: dict[str, str] = {}
    if missing and not dry_run:
        with StopSignals() as stop, make_bars() as progress:
            failures = run_together(
                missing,
                dataset,
                root,
                weights=weights,
                device=device,
                together=together,
                compile=compile,
                begin=TrialBars(progress, missing).begin,
                warn=warn,
                should_stop=stop.wanted,
            )
    _print(runs, root)
    refuse_failures(failures, of=len(missing))


def tell_needs(
    trials: Sequence[Trial],
    missing: Sequence[Trial],
    dataset: Dataset | PhotoDataset,
    root: Path,
    *,
    together: int,
    device: str,
) -> None:
    """Say what is to run, and what time, memory and disk that takes; refuse what there is no room for."""
    from reslab.experiments.estimate import check_disk_for_set, estimate_set
    from reslab.experiments.sizes import check_memory, trial_bytes

    iterations = sum(trial.recipe.iterations for trial in missing)
    progress_console.print(
        f"trials: {len(trials)}, finished: {len(trials) - len(missing)}, to run: {len(missing)} "
        f"on {device}, {iterations:,} iterations in all",
        soft_wrap=True,
    )
    if not missing:
        return
    largest = max(missing, key=lambda trial: trial_bytes(trial, device=device))
    if warning := check_memory(largest, dataset, device=device):
        warn(warning)
    with progress_console.status("timing a few steps"):
        estimate = estimate_set(missing, dataset, root, together=together, device=device)
    less = f" (less with {together} at once)" if together > 1 and device == "cuda" else ""
    progress_console.print(
        f"{about(estimate.seconds)} one after the other{less}, {write_size(estimate.memory_bytes)} of memory, "
        f"{write_size(estimate.disk_bytes)} of disk",
        soft_wrap=True,
    )
    check_disk_for_set(estimate, missing, root)


def _print(runs: Mapping[Trial, RunDirectory], root: Path) -> None:
    """Print a row for each run, and under those that differ in their seed alone their mean."""
    table = make_table(f"Runs ({root})", "run", "network<", "seed", "training error %", "test error %")
    alike: dict[Trial, list[Trial]] = {}
    for trial in runs:
        alike.setdefault(replace(trial, seed=0), []).append(trial)
    for group in alike.values():
        errors: list[tuple[float, float]] = []
        for trial in group:
            run, told = runs[trial], (runs[trial].state, "")
            if run.state == "finished":
                result = run.result()
                errors.append((result["train_error_percent"], result["test_error_percent"]))
                told = percent(errors[-1][0]), percent(errors[-1][1])
            table.add_row(run.path.name, name_of(trial.network), str(trial.seed), *told)
        if len(errors) > 1:
            means = [
                f"{percent(statistics.mean(values))} ± {percent(statistics.stdev(values))}"
                for values in zip(*errors, strict=True)
            ]
            table.add_row(f"mean ± std of {len(errors)}", "", "", *means)
    console.print(table)
