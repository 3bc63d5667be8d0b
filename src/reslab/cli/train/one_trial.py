"""One trial by `reslab train`: what it will need, then the training, in this process or in several."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from reslab.cli.terminal.checked_records import read_whole
from reslab.cli.terminal.progress import StopSignals, TrialBars, make_bars, summarize
from reslab.cli.terminal.show import SPEAKING, console, note_all, progress_console, say
from reslab.cli.train.launcher import run_in_processes
from reslab.legible import legible
from reslab.numbers import about, write_size
from reslab.runs.directory import RunDirectory
from reslab.spec.toml import write_toml
from reslab.spec.trial import Trial, trial_to_dict
from reslab.tasks.catalogue import find_shown

if TYPE_CHECKING:
    from reslab.data.dataset import Dataset
    from reslab.experiments.estimate import Estimate


def train_one(
    trial: Trial,
    dataset: Dataset,
    root: Path,
    *,
    weights: str | None,
    processes: int,
    command: Sequence[str],
    compile: bool,
    snapshots: str | None,
    dry_run: bool,
    notes: Sequence[str],
) -> None:
    """Train a trial, or resume its run; with `dry_run`, print it and what it needs.

    Several `processes` are started by `command`, and train it together.
    """
    with progress_console.status("loading"):
        from reslab.experiments.preflight import preflight, refuse_short_disk, refuse_unfit_trial
        from reslab.experiments.run import run_trial
        from reslab.experiments.starting import refuse_other_start
        from reslab.experiments.threads import suitable_threads
        from reslab.runtime.execution import choose_device
        from reslab.runtime.processes import joined
        from reslab.training.schedule import read_snapshots

    kept = read_snapshots(snapshots, trial.recipe.iterations) if snapshots else frozenset[int]()
    run, device = RunDirectory.of(trial, root), choose_device()
    if not dry_run:
        if _is_done(run, trial, kept):
            return
        run.refuse_held()  # before anything is timed beside it
    if run.state == "new":
        refuse_other_start(trial, weights)
    if processes > 1 and not dry_run:
        refuse_unfit_trial(trial, dataset, num_processes=processes)
        if code := run_in_processes(command, processes):
            sys.exit(code)
        return
    with joined() as group, contextlib.ExitStack() as kept_up:
        count = max(processes, group.count)
        if not group.first:
            console.quiet = progress_console.quiet = True
        note_all(notes)
        preflight(trial, dataset, device=device, num_processes=count, listener=SPEAKING)
        if not dry_run:
            say(f"{'damaged' if run.state == 'finished' else run.state} run {run.path}")
        with progress_console.status("timing a few steps"):
            kept_up.enter_context(suitable_threads(trial, run, device=device, together=count, listener=SPEAKING))
            estimate = _estimate(trial, dataset, run, device=device, processes=count)
        if dry_run:
            if group.first:
                lines = [run.path.name, *_describe(estimate, trial, count)]
                print("\n".join(f"# {legible(line)}" for line in lines), end="\n\n")
                print(write_toml(trial_to_dict(trial)), end="")
            return
        for line in _describe(estimate, trial, count):
            say(line)
        if group.first:
            refuse_short_disk([(trial, run)])
        with StopSignals() as stop, make_bars() as progress:
            bars = TrialBars(progress, [trial])
            run_trial(
                trial,
                dataset,
                root,
                weights=weights,
                device=device,
                processes=group,
                compile=compile,
                snapshots=kept,
                listener=replace(bars.listener(stop), progress=bars.begin(trial)),
            )
        if group.first:
            console.print(summarize(run.result(), find_shown(trial).scores))
            say(f"wrote {run.weights}")


def _is_done(run: RunDirectory, trial: Trial, kept: frozenset[int]) -> bool:
    """Whether a run is finished and whole; then its result is printed."""
    from reslab.experiments.resuming import find_loss

    if run.state != "finished" or find_loss(run, trial):
        return False
    read_whole(run)
    say(f"{run.path} is finished: {summarize(run.result(), find_shown(trial).scores)}")
    if missing := [str(step) for step in sorted(kept) if not run.snapshot(step).exists()]:
        remedy = "train it again in another folder with --runs DIR"
        SPEAKING.warn(f"the run is finished, but has no snapshots of {', '.join(missing)}; {remedy}")
    return True


def _estimate(trial: Trial, dataset: Dataset, run: RunDirectory, *, device: str, processes: int) -> Estimate:
    """Estimate what a trial needs of each of several processes, by timing a share of its batch."""
    from reslab.experiments.estimate import estimate_run, measure_speed

    share = replace(trial, recipe=replace(trial.recipe, batch=trial.recipe.batch // processes))
    speed = measure_speed(share, device=device)
    speed = replace(speed, test_seconds=speed.test_seconds / processes)
    return estimate_run(share, dataset, run, speed=speed, device=device)


def _describe(estimate: Estimate, trial: Trial, processes: int) -> list[str]:
    done = f", {estimate.done:,} of them done" if estimate.done else ""
    shared = f" in {processes} processes" if processes > 1 else ""
    return [
        f"{estimate.iterations:,} iterations of {trial.recipe.batch} images ({estimate.epochs * processes:,.1f} epochs)"
        f"{shared}, seed {trial.seed}{done}",
        f"{about(estimate.seconds)}, "
        f"{write_size(estimate.memory_bytes)} of memory{' each' if shared else ''}, "
        f"{write_size(estimate.disk_bytes)} of disk",
    ]
