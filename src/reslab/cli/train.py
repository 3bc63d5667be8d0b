"""`reslab train data=... network=... [recipe=...] [seed=...] [field=value ...]`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from reslab.cli.progress import StopSignals, TrialBars, make_bars, summarize
from reslab.cli.show import console, progress_console
from reslab.cli.subjects import runs_root, split_words
from reslab.errors import UserError
from reslab.spec import find
from reslab.spec.recipe import find_recipe
from reslab.spec.trial import DataSpec, Trial

if TYPE_CHECKING:
    from reslab.data.dataset import Dataset

RECIPE_OF = {"digits": "digits", "cifar10": "cifar-paper"}


def train(*fields: str, runs: Path | None = None, compile: bool = False) -> None:
    """Train a network; run the same command again to go on where it stopped.

    Ctrl-C and SIGTERM save the state first and end with exit codes 130 and 143.

    Parameters
    ----------
    fields
        data=NAME network=NAME recipe=NAME seed=N, and fields of each: network.shortcut=B recipe.iterations=100.
    runs
        The folder for runs; RESLAB_RUNS, or runs.
    compile
        Put torch.compile under the training: slower to start, faster afterwards.
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

        dataset = load_dataset(given.get("data", "digits"))
        trial = read_trial(given, dataset)
    run = RunDirectory.of(trial, root)
    if run.state == "finished":
        console.print(f"{run.path} is finished: {summarize(run.result())}", soft_wrap=True)
        return
    console.print(f"{run.state} run {run.path}", soft_wrap=True)
    console.print(f"{trial.recipe.iterations:,} iterations of {trial.recipe.batch} images, seed {trial.seed}")
    with StopSignals() as stop, make_bars() as progress:
        run_trial(
            trial,
            dataset,
            root,
            device="cuda" if torch.cuda.is_available() else "cpu",
            compile=compile,
            progress=TrialBars(progress, [trial]).begin(trial),
            warn=lambda sentence: progress.console.print(f"warning: {sentence}", soft_wrap=True),
            should_stop=stop.wanted,
        )
    console.print(summarize(run.result()))
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
