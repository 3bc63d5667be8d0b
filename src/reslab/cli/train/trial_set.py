"""Several trials by one command: what they will need, and `reslab train A.toml B.toml` or `--seeds N`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reslab.cli.terminal.checked_records import read_whole
from reslab.cli.terminal.progress import StopSignals, TrialBars, make_bars, tell_skipped
from reslab.cli.terminal.show import console, make_table, note, progress_console, say, warn
from reslab.errors import UserError
from reslab.numbers import about, percent, write_size
from reslab.report.groups import spread
from reslab.report.labels import label_each, name_origins
from reslab.report.notation import spread_words
from reslab.runs.directory import RunDirectory
from reslab.runs.origins import name_weights
from reslab.runtime.listener import DEAF
from reslab.scores import list_columns, list_spare
from reslab.spec import Spec
from reslab.spec.trial import Trial
from reslab.tasks.catalogue import find_shown

if TYPE_CHECKING:
    from reslab.data.dataset import Dataset
    from reslab.experiments.estimate import Estimate

MOST_SEEDS = 1_000  # all trials are written to disk before the first begins
MOST_TOGETHER = 32  # torch has so many streams of a kind


def refuse_numbers(*, seeds: int | None, together: int | None) -> None:
    """Refuse numbers of seeds and of trials at once that cannot be."""
    if seeds is not None and not 1 <= seeds <= MOST_SEEDS:
        raise UserError(f"--seeds is {seeds:,}; give a whole number from 1 to {MOST_SEEDS:,}")
    if together is not None and not 1 <= together <= MOST_TOGETHER:
        raise UserError(f"--together is {together}; give a whole number from 1 to {MOST_TOGETHER}")


def train_several(
    trials: Sequence[Trial],
    dataset: Dataset,
    root: Path,
    *,
    weights: str | Path | None,
    together: int | None,
    compile: bool,
    snapshots: str | None,
    dry_run: bool,
) -> None:
    """Train the trials that are not finished, several at once, and print the results of all."""
    with progress_console.status("loading"):
        from reslab.experiments.resuming import find_loss
        from reslab.experiments.together import most_together, refuse_failures, run_together
        from reslab.runtime.execution import choose_device

    device = choose_device()
    together = together or most_together(device, dataset)
    runs = {trial: RunDirectory.of(trial, root) for trial in trials}
    missing = {trial: run for trial, run in runs.items() if run.state != "finished" or find_loss(run, trial)}
    _refuse_unfit(missing, dataset, weights)
    if not dry_run:
        for run in missing.values():
            run.refuse_held()
    tell_needs(trials, list(missing), dataset, root, together=together, device=device, refusing=not dry_run)
    failures = {}
    if missing and not dry_run:
        labels = label_runs(runs, weights)
        with StopSignals() as stop, make_bars() as progress:
            failures = run_together(
                list(missing),
                dataset,
                root,
                weights=weights,
                device=device,
                together=together,
                compile=compile,
                snapshots=snapshots,
                listener=TrialBars(progress, list(missing), labels=labels).listener(stop),
            )
    print_runs(runs, root, weights=weights)
    refuse_failures(failures, of=len(missing))


def tell_needs(
    trials: Sequence[Trial],
    missing: Sequence[Trial],
    dataset: Dataset,
    root: Path,
    *,
    together: int,
    device: str,
    refusing: bool = True,
) -> Estimate | None:
    """Print and return what time, memory and disk the missing trials take; refuse what the disk has no room for."""
    from reslab.experiments.estimate import estimate_set
    from reslab.experiments.preflight import find_worries, refuse_short_disk
    from reslab.experiments.threads import suitable_threads
    from reslab.training.checkpoint import newest_step

    done = sum(newest_step(RunDirectory.of(trial, root).checkpoints) for trial in missing)
    left = max(0, sum(trial.recipe.iterations for trial in missing) - done)
    note(
        f"trials: {len(trials)}, finished: {len(trials) - len(missing)}, to run: {len(missing)} "
        f"on {device}, {left:,} iterations in all"
    )
    if not missing:
        return None
    at_once = min(together, len(missing))
    _warn_of_crowding(at_once, device)
    for worry, trial in find_worries(missing, dataset, device=device).items():
        warn(f"{trial.id}: {worry}")
    first = RunDirectory.of(missing[0], root)
    with (
        progress_console.status("timing a few steps"),
        suitable_threads(missing[0], first, device=device, together=at_once, listener=DEAF),  # each tells as it begins
    ):
        estimate = estimate_set(missing, dataset, root, together=together, device=device)
    less = f" (less with {together} at once)" if together > 1 and device == "cuda" else ""
    note(
        f"{about(estimate.seconds)} one after the other{less}, {write_size(estimate.memory_bytes)} of memory, "
        f"{write_size(estimate.disk_bytes)} of disk"
    )
    if refusing:
        refuse_short_disk([(trial, RunDirectory.of(trial, root)) for trial in missing])
    return estimate


def _warn_of_crowding(together: int, device: str) -> None:
    """Warn if trials at once have more threads than there are cores: they then mostly wait for each other."""
    import torch

    threads, cores = torch.get_num_threads(), os.cpu_count() or 1
    if device == "cpu" and together > 1 and together * threads > cores:
        warn(
            f"{together} trials at once with {threads} threads each overload {cores} cores and are many times slower "
            f"than one after the other; leave out --together, or set OMP_NUM_THREADS={max(1, cores // together)}"
        )


def _refuse_unfit(missing: Mapping[Trial, RunDirectory], dataset: Dataset, weights: str | Path | None) -> None:
    """Refuse, before any run starts, trials that do not fit the data, and weights that a trial does not start from."""
    from reslab.experiments.preflight import refuse_unfit_trial
    from reslab.experiments.starting import read_start

    new = [trial for trial, run in missing.items() if run.state == "new"]
    if len({trial.start for trial in new}) > 1:
        raise UserError("these trials start from different weights; train them in separate commands")
    networks: set[Spec] = set()
    for trial in missing:
        try:
            refuse_unfit_trial(trial, dataset)
            if trial in new and trial.network not in networks:
                networks.add(trial.network)
                read_start(trial, weights)
        except UserError as error:
            raise UserError(f"{trial.id}: {error}") from error


def label_runs(runs: Mapping[Trial, RunDirectory], weights: str | Path | None) -> dict[Trial, str]:
    """Name each trial by what tells it from the others; what has not begun starts from the `weights` given."""
    given = {trial.start: f"weights={name_weights(weights, {})}" for trial in runs if trial.start and weights}
    return label_each(list(runs), given | name_origins(runs.items()))


def print_runs(runs: Mapping[Trial, RunDirectory], root: Path, *, weights: str | Path | None = None) -> None:
    """Print a row for each run, a mean under runs that differ only in the seed, and the runs left out."""
    labels, results = label_runs(runs, weights), _read_results(runs)
    damaged = [trial for trial, run in runs.items() if run.state == "finished" and trial not in results]
    shown = list_columns(score for trial in results for score in find_shown(trial).scores)
    stands = ["state<"] if len(results) < len(runs) else []
    heads = ("trial", "seed", *shown.values(), "run<", *stands)
    table = make_table(f"Runs ({root})", *heads, give_way=list_spare(find_shown(trial).scores for trial in results))
    alike: dict[Trial, list[Trial]] = {}
    for trial in runs:
        alike.setdefault(replace(trial, seed=0), []).append(trial)
    for group in alike.values():
        for trial in group:
            numbers = [percent(results.get(trial, {}).get(name)) for name in shown]
            standing = ["damaged" if trial in damaged else _stand(runs[trial]) for _ in stands]
            table.add_row(labels[trial], str(trial.seed), *numbers, trial.id, *standing)
        ended = [results[trial] for trial in group if trial in results]
        if len(ended) > 1:
            means = [spread([result.get(name) for result in ended]) for name in shown]
            table.add_row(f"mean ± std of {len(ended)}", "", *map(spread_words, means))
    console.print(table)
    for trial, result in results.items():
        if skipped := tell_skipped(result):
            say(f"{trial.id}: {skipped}")


def _read_results(runs: Mapping[Trial, RunDirectory]) -> dict[Trial, dict[str, Any]]:
    """Return the results of finished runs; a record that contradicts itself gets a warning and no result."""
    results = {}
    for trial, run in runs.items():
        if run.state == "finished":
            try:
                read_whole(run)
            except UserError as error:
                warn(str(error))
            else:
                results[trial] = run.result()
    return results


def _stand(run: RunDirectory) -> str:
    from reslab.training.checkpoint import newest_step

    return f"{run.state} at {newest_step(run.checkpoints):,}" if run.state in ("interrupted", "diverged") else run.state
