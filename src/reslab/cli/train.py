"""`reslab train data=... network=... [recipe=...] [seed=...] [field=value ...]`."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from reslab.cli.show import console, progress_console
from reslab.cli.subjects import runs_root, split_words
from reslab.errors import UserError
from reslab.spec import find
from reslab.spec.recipe import find_recipe
from reslab.spec.trial import DataSpec, Trial

if TYPE_CHECKING:
    from reslab.data.dataset import Dataset

RECIPE_OF = {
    "digits": "digits",
    "cifar10": "cifar-paper",
    "cifar100": "cifar-paper",
    "svhn": "svhn",
    "fashion-mnist": "cifar-paper",
}
EXIT_OF = {signal.SIGINT: 130, signal.SIGTERM: 143}


def train(*fields: str, runs: Path | None = None) -> None:
    """Train a network; run the same command again to go on where it stopped.

    Ctrl-C and SIGTERM save the state first and end with exit codes 130 and 143.

    Parameters
    ----------
    fields
        data=NAME network=NAME recipe=NAME seed=N, and fields of each: network.shortcut=B recipe.iterations=100.
    runs
        The folder for runs; RESLAB_RUNS, or runs.
    """
    subjects, given = split_words(fields)
    if subjects:
        raise UserError(f"train takes field=value pairs and got '{subjects[0]}'; write network={subjects[0]}")
    root = runs_root(runs)
    with progress_console.status("loading"):
        import torch

        from reslab.data.catalogue import load_dataset
        from reslab.experiments.run import run_trial
        from reslab.runs.directory import RunDirectory
        from reslab.training.loop import Stopped

        dataset = load_dataset(given.get("data", "digits"))
        trial = read_trial(given, dataset)
    run = RunDirectory.of(trial, root)
    if run.state == "finished":
        console.print(f"{run.path} is finished: {_summary(run.result())}", soft_wrap=True)
        return
    console.print(f"{run.state} run {run.path}", soft_wrap=True)
    console.print(f"{trial.recipe.iterations:,} iterations of {trial.recipe.batch} images, seed {trial.seed}")
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
                device="cuda" if torch.cuda.is_available() else "cpu",
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


def read_trial(fields: dict[str, str], dataset: Dataset) -> Trial:
    """Make the trial that fields ask for; the data decides image size, channels and classes unless they say so."""
    groups: dict[str, dict[str, Any]] = {"data": {}, "network": {}, "recipe": {}}
    for field, value in fields.items():
        group, dot, rest = field.partition(".")
        if dot and group in groups:
            groups[group][rest] = value
        elif field not in (*groups, "seed"):
            raise UserError(f"train knows no field '{field}'; there are data, network, recipe, seed and their fields")
    if "network" not in fields:
        raise UserError("train needs a network: write network=resnet-20")
    seed = fields.get("seed", "0")
    if not seed.isdecimal():
        raise UserError(f"seed is {seed!r}; give a whole number of 0 or more")
    channels, _, side = dataset.train.images.shape[1:]
    implied = {"classes": len(dataset.class_names), "channels": channels, "input_size": side}
    return Trial(
        data=DataSpec(name=dataset.name, fingerprint=dataset.fingerprint, **groups["data"]),
        network=find(fields["network"], implied | groups["network"]),
        recipe=find_recipe(fields.get("recipe", RECIPE_OF[dataset.name]), groups["recipe"]),
        seed=int(seed),
    )


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
