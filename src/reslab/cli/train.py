"""`reslab train [TRIAL.toml] data=... network=... [recipe=...] [seed=...] [field=value ...] [--dry-run]`."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from reslab.cli.show import console, duration, memory, progress_console
from reslab.cli.subjects import runs_root, split_words
from reslab.cli.trials import read_trial, read_trial_file
from reslab.errors import UserError
from reslab.spec.toml import write_toml
from reslab.spec.trial import Trial, trial_to_dict

if TYPE_CHECKING:
    from reslab.experiments.estimate import Estimate

EXIT_OF = {signal.SIGINT: 130, signal.SIGTERM: 143}


def train(*fields: str, runs: Path | None = None, dry_run: bool = False) -> None:
    """Train a network; run the same command again to go on where it stopped.

    Ctrl-C and SIGTERM save the state first and end with exit codes 130 and 143.

    Parameters
    ----------
    fields
        data=NAME network=NAME recipe=NAME seed=N, and fields of each: network.shortcut=B recipe.iterations=100.
        recipe may be a TOML file of its fields; a TOML file as first word is a whole trial.
    runs
        The folder for runs; RESLAB_RUNS, or runs.
    dry_run
        Print the complete trial as TOML, with what it would need, and train nothing.
    """
    subjects, given = split_words(fields)
    for subject in subjects:
        if len(subjects) > 1 or not subject.endswith(".toml"):
            raise UserError(
                f"train takes field=value pairs or one TOML file and got '{subject}'; write network={subject}"
            )
    root = runs_root(runs)
    with progress_console.status("loading"):
        import torch

        from reslab.data.catalogue import load_dataset
        from reslab.experiments.estimate import check_room, estimate_run, measure_speed
        from reslab.experiments.run import run_trial
        from reslab.runs.directory import RunDirectory
        from reslab.training.loop import Stopped

        if subjects:
            trial = read_trial_file(Path(subjects[0]), given)
            dataset = load_dataset(trial.data.name)
            if dataset.fingerprint != trial.data.fingerprint:
                raise UserError(
                    f"{subjects[0]} is about other data than the {dataset.name} here; check data.fingerprint"
                )
        else:
            dataset = load_dataset(given.get("data", "digits"))
            trial = read_trial(given, dataset)
    run = RunDirectory.of(trial, root)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if run.state == "finished" and not dry_run:
        console.print(f"{run.path} is finished: {_summary(run.result())}", soft_wrap=True)
        return
    if not dry_run:
        console.print(f"{run.state} run {run.path}", soft_wrap=True)
    with progress_console.status("timing a few steps"):
        estimate = estimate_run(trial, dataset, run, speed=measure_speed(trial, device=device), device=device)
    if dry_run:
        print("\n".join(f"# {line}" for line in [run.path.name, *_describe(estimate, trial)]), end="\n\n")
        print(write_toml(trial_to_dict(trial)), end="")
        return
    console.print("\n".join(_describe(estimate, trial)), soft_wrap=True)
    if warning := check_room(estimate, run, device=device):
        progress_console.print(f"warning: {warning}", soft_wrap=True)
    stop = _StopSignals()
    with stop, _bar() as progress:
        task = progress.add_task("", total=trial.recipe.iterations)

        def show(step: int, metrics: dict[str, float]) -> None:
            progress.update(task, completed=step, description=_summary(metrics) if metrics else "")

        try:
            run_trial(
                trial,
                dataset,
                root,
                device=device,
                progress=show,
                warn=lambda sentence: progress.console.print(f"warning: {sentence}", soft_wrap=True),
                should_stop=lambda: stop.received is not None,
            )
        except Stopped:
            assert stop.received is not None
            progress_console.print("stopped; the state is saved: run the same command to go on")
            sys.exit(EXIT_OF[stop.received])
    console.print(_summary(run.result()))
    console.print(f"wrote {run.weights}", soft_wrap=True)


def _describe(estimate: Estimate, trial: Trial) -> list[str]:
    done = f", {estimate.done:,} of them done" if estimate.done else ""
    return [
        f"{estimate.iterations:,} iterations of {trial.recipe.batch} images ({estimate.epochs:.3g} epochs), "
        f"seed {trial.seed}{done}",
        f"about {duration(estimate.seconds)}, {memory(estimate.memory_bytes)} of memory, "
        f"{memory(estimate.disk_bytes)} of disk",
    ]


def _summary(metrics: dict[str, Any]) -> str:
    return f"train {metrics['train_error_percent']:.2f} %  test {metrics['test_error_percent']:.2f} % error"


def _bar() -> Progress:
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    return Progress(*columns, console=progress_console)


class _StopSignals:
    """Turns Ctrl-C and SIGTERM into a wish to stop after the iteration; a second one stops at once."""

    received: signal.Signals | None = None

    def __enter__(self) -> None:
        self.before = {number: signal.signal(number, self._receive) for number in EXIT_OF}

    def __exit__(self, *error: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def _receive(self, number: int, frame: object) -> None:
        if self.received is not None:
            raise KeyboardInterrupt
        self.received = signal.Signals(number)
