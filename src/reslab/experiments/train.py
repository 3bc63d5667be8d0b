"""Training from Python as `reslab train` does it: by names and fields."""

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from reslab.data.catalogue import open_data
from reslab.data.dataset import Dataset
from reslab.errors import UserError
from reslab.experiments.alternating import train_in_turns
from reslab.experiments.lines import print_to_stderr, write_lines
from reslab.experiments.preflight import preflight, refuse_short_disk
from reslab.experiments.run import run_trial
from reslab.experiments.threads import suitable_threads
from reslab.experiments.trials import go_on_with_earlier, read_held_out_seed, read_trial, take_form, tell_of_network
from reslab.runs.directory import RunDirectory, default_root
from reslab.runtime.execution import choose_device
from reslab.runtime.listener import Listener, Metrics
from reslab.spec import Spec
from reslab.spec.recipe import Recipe
from reslab.spec.trial import Trial
from reslab.training.schedule import read_snapshots

NAMED = ("data", "network", "weights", "recipe", "seed")  # arguments, and no fields


def train(
    data: str | Path,
    network: str | Spec | None = None,
    *,
    weights: str | Path | None = None,
    recipe: str | Path | Recipe | None = None,
    runs: str | Path | None = None,
    seed: int = 0,
    device: str | None = None,
    fields: Mapping[str, Any] | None = None,
    snapshots: str | None = None,
    progress: Callable[[int, Metrics], None] | bool = True,
    warn: Callable[[str], None] = warnings.warn,
) -> RunDirectory:
    """Train `network` on a dataset or a folder of photographs, or resume its run. Return the run.

    `network` is a name or a spec; the data decide its classes and channels, and its image size if all images have the
    same. The default is the network of `weights`, or resnet-18 on photographs. `weights` are a file, "cifar10" or
    "torchvision" to start from; without them training starts from random weights. `recipe` is a name, a TOML file or a
    Recipe; the default is the data's own. `fields` are those of the command line, as text or as values, such as
    {"recipe.epochs": 20}.

    `runs` is the folder for runs; the default is RESLAB_RUNS, or runs. `device` is "cpu" or "cuda"; the default is a
    GPU if there is one. `snapshots` keeps weights in the run's `snapshots/` after these iterations ("1000,2000") or
    fractions of the run ("0.1,0.5").

    Each evaluation prints a line to standard error. `progress=False` prints nothing; a function receives the step and
    the newest metrics instead. `warn` receives warnings, for example about bad images that are skipped. The returned
    run has `result()`, and `weights`, the path of its weight file.
    """
    device, listener = choose_device(device), Listener(warn=warn)
    given = name_fields(network, recipe=recipe, seed=seed, fields=fields, function="train")
    alternating = take_form(given)
    dataset = open_data(str(data), held_out_seed=read_held_out_seed(given), listener=listener)
    root = Path(runs) if runs else default_root()

    def train_trial(trial: Trial, dataset: Dataset, weights: str | Path | None) -> RunDirectory:
        run = RunDirectory.of(trial, root)
        if run.state != "finished":
            preflight(trial, dataset, device=device, listener=listener)
            refuse_short_disk([(trial, run)])
        kept = frozenset() if snapshots is None else read_snapshots(snapshots, trial.recipe.iterations)
        moved = listener
        if progress:
            moved = listener.moved_by(progress if callable(progress) else write_lines(trial))
        with suitable_threads(trial, run, device=device, listener=moved):
            return run_trial(trial, dataset, root, weights=weights, device=device, snapshots=kept, listener=moved)

    if alternating:

        def train_step(step: str, trial: Trial, dataset: Dataset, weights: str | Path) -> RunDirectory:
            if progress is True:
                print_to_stderr(step)
            return train_trial(trial, dataset, weights)

        return train_in_turns(given, dataset, root, weights=weights, train=train_step, listener=listener)
    (trial,), dataset = go_on_with_earlier(
        lambda data: [read_trial(given, data, weights=weights)],
        dataset,
        root,
        weights=weights,
        listener=listener,
    )
    if progress is True and (chosen := tell_of_network(given, trial, weights=weights)):
        print_to_stderr(chosen)
    return train_trial(trial, dataset, weights)


def name_fields(
    network: str | Spec | None,
    *,
    recipe: str | Path | Recipe | None,
    seed: int,
    fields: Mapping[str, Any] | None,
    function: str,
) -> dict[str, Any]:
    """Return what a function is given as the fields of a trial; refuse among `fields` what is its argument."""
    fields = dict(fields or {})
    for name in NAMED:
        if name in fields:
            raise UserError(f"'{name}' is an argument of {function}, not a field; write {function}(..., {name}=...)")
    named: dict[str, Any] = {"seed": str(seed)} | ({} if network is None else {"network": network})
    if recipe is not None:
        named["recipe"] = recipe if isinstance(recipe, Recipe) else str(recipe)
    return named | fields
