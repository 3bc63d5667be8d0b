"""A trial as one asks for it: by names and fields, or as a TOML file with fields overridden."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields as dataclass_fields
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reslab.data.dataset import count_trained
from reslab.errors import UserError
from reslab.experiments.changed_data import tell_of_changed_data
from reslab.runs.directory import RunDirectory
from reslab.runs.weights import read_fingerprint
from reslab.runtime.listener import Listener
from reslab.spec import NetworkSpec, Spec, find, name_of
from reslab.spec.codec import convert, override
from reslab.spec.network import PRE_REVISION
from reslab.spec.recipe import (
    HEADLINE,
    Recipe,
    change_recipe,
    find_epochs,
    find_recipe,
    space_evaluations,
    spaces_evaluations,
)
from reslab.spec.task import find_task, tasks_for
from reslab.spec.task_spec import TaskSpec
from reslab.spec.toml import read_toml
from reslab.spec.trial import DataSpec, Trial, change_trial, group_fields, read_seed, trial_from_dict
from reslab.tasks.catalogue import find_shown

if TYPE_CHECKING:
    from reslab.data.dataset import Dataset

MOST_EPOCHS = 1_000_000
PHOTOGRAPH_SIDE = 64  # weights that saw smaller images have to learn about as much anew as random ones
PUBLISHED = "torchvision"  # weights for whichever network is asked for
FORM, JOINT, ALTERNATING = "task.form", "joint", "alternating"  # a word of commands, and no field of a trial
SLIPS = ("recipe.epoch", "recipe.num_epochs", "recipe.max_epochs")


def read_trial(fields: Mapping[str, Any], dataset: Dataset, *, weights: str | Path | None = None) -> Trial:
    """Make the trial that fields ask for; the data decides image size, channels and classes unless they say so.

    Photographs have no size of their own: they are cropped to what the network takes. With `weights` to start from,
    these say what the fields leave open about the network. A network may be given as a spec, a recipe as itself;
    without a network it is that of the weights, or the data's usual one. Some recipes' length is in epochs of the data.
    A length of one's own brings about ten evaluations along, unless the fields say how often; recipe.keep_best=true
    stands for the task's headline score.
    """
    fields = dict(fields)
    epochs = take_epochs(fields)
    groups = group_fields(fields)
    task = _choose_task(fields.get("task") or tasks_for(dataset.target)[0], weights, groups["task"])
    implied = {"classes": len(task.name_outputs(dataset.class_names)), "channels": dataset.channels}
    if dataset.side is not None:
        implied["input_size"] = dataset.side
    if dataset.dimensions != 2:  # which is what every network takes unless told otherwise
        implied["dimensions"] = dataset.dimensions
    network, given = _choose_network(fields, dataset, weights), groups["network"]
    spec = _make_spec(network, weights, implied | given)
    recipe, changes = fields.get("recipe", _usual_recipe(dataset, spec, weights)), groups["recipe"]
    base = recipe if isinstance(recipe, Recipe) else find_recipe(recipe)
    if epochs is None and "iterations" not in changes:
        epochs = find_epochs(recipe)
    data = _choose_data(dataset, groups["data"])
    trial = Trial(
        data=data,
        network=spec,
        recipe=change_recipe(base, changes),
        seed=read_seed(fields.get("seed", 0)),
        task=task,
    )
    trial = with_epochs(_name_choice(trial), epochs, dataset)
    if "evaluate_every" not in changes and not spaces_evaluations(recipe):
        trial = replace(trial, recipe=space_evaluations(trial.recipe, base))
    if weights is None:
        return trial
    from reslab.experiments.starting import start_from

    prepares = dataset.has_files and "centring" not in changes  # which is how to ask for another way
    return start_from(trial, weights, network=network, given=given, implied=implied, prepares=prepares)


def go_on_with_earlier(
    make: Callable[[Dataset], list[Trial]],
    dataset: Dataset,
    root: Path,
    *,
    weights: str | Path | None = None,
    listener: Listener,
) -> tuple[list[Trial], Dataset]:
    """Return the trials that `make` makes of the data, and it, as an earlier version had it if it began their runs.

    Or if it trained the `weights` they start from on this very data: what it held out then is held out again. Where
    nothing has begun and the same trial has a run on what the data was before, the listener is told.
    """
    trials = make(dataset)
    if not _has_begun(trials, root):
        for then in dataset.read_before(held_out_seed=trials[0].data.held_out_seed):
            if weights is not None and then.fingerprint == read_fingerprint(Path(weights)):
                return make(then), then
            if _has_begun(before := make(then), root):
                if then.is_known_by_size:
                    listener.warn(
                        f"an earlier version started this run and identified uncompressed images by size only; "
                        f"if images of {dataset.name} have changed, remove {RunDirectory.of(before[0], root).path}"
                    )
                return before, then
        tell_of_changed_data(trials, dataset, root, listener)
    for trial in trials:
        _tell_of_earlier_network(trial, root, listener)
        _tell_of_earlier_preparation(trial, root, listener)
    return trials, dataset


def _has_begun(trials: Iterable[Trial], root: Path) -> bool:
    return any(RunDirectory.of(trial, root).path.exists() for trial in trials)


def _tell_of_earlier_network(trial: Trial, root: Path, listener: Listener) -> None:
    """Warn if an earlier version, with another definition of pre-activation, has begun a run that looks the same."""
    if isinstance(trial.network, NetworkSpec) and trial.network.pre_revision == PRE_REVISION:
        before = RunDirectory.of(replace(trial, network=replace(trial.network, pre_revision=1)), root)
        if before.path.exists() and not _has_begun([trial], root):
            listener.warn(
                f"{before.path} uses an older definition of network.order=pre; add network.pre_revision=1 to resume it"
            )


def _tell_of_earlier_preparation(trial: Trial, root: Path, listener: Listener) -> None:
    """Say where an earlier version, which prepared images as the recipe says, has begun what looks the same."""
    before = RunDirectory.of(replace(trial, preprocess=None), root)
    if trial.preprocess is not None and before.path.exists() and not _has_begun([trial], root):
        listener.warn(
            f"{before.path} was begun by an earlier version, which did not prepare images as its weights need it, so "
            f"this is a new run; add recipe.centring={trial.recipe.centring} to resume the old one"
        )


def tell_of_network(fields: Mapping[str, Any], trial: Trial, *, weights: str | Path | None) -> str:
    """Say which network is trained where the fields name none; nothing where they do."""
    if fields.get("network") is not None:
        return ""
    why = "the default" if weights in (None, PUBLISHED) else f"the network of weights={weights}"
    size = f"{' x '.join(map(str, trial.network.input_shape[1:]))} pixels"
    if (sides := trial.task.sides) is not None:
        size = f"whole images of up to {sides[0]} x {sides[1]} pixels"
    return f"no network= given: training {name_of(trial.network).split()[0]} on {size}, {why}"


def _choose_task(name: Any, weights: str | Path | None, given: Mapping[str, Any]) -> TaskSpec:
    """Return the task that is asked for; where weights were trained for it, as these know it but for what is given."""
    task = find_task(name, given)
    if weights in (None, PUBLISHED) or not dataclass_fields(task):
        return task
    from reslab.networks import read_weights

    known = read_weights(weights).task
    return override(known, given, where="task.") if known.name == task.name else task


def _choose_network(fields: Mapping[str, Any], dataset: Dataset, weights: str | Path | None) -> str | Spec | None:
    """Return the network that is asked for, or the data's usual one; None where weights say which it is."""
    if (network := fields.get("network")) is not None or weights not in (None, PUBLISHED):
        return network
    if dataset.usual_network is None:
        raise UserError("train needs a network: write network=resnet-20")
    return dataset.usual_network


def _make_spec(network: str | Spec | None, weights: str | Path | None, fields: Mapping[str, Any]) -> Spec:
    if isinstance(network, str):
        return find(network, fields, where="network.")
    if network is None:
        from reslab.networks import read_weights

        assert weights is not None
        network = read_weights(weights).spec
    return override(network, fields, where="network.")


def _usual_recipe(dataset: Dataset, spec: Spec, weights: str | Path | None) -> str:
    """Return the data's recipe, or that for weights to start from, unless these know too little of photographs."""
    knows = weights is not None and spec.input_shape[-1] >= PHOTOGRAPH_SIDE
    return dataset.usual_start_recipe if knows else dataset.usual_recipe


def read_held_out_seed(fields: Mapping[str, Any]) -> int:
    """Return the seed that draws the held-out images; it is part of the data's identity."""
    return convert(int, fields.get("data.held_out_seed", "0"), where="data.held_out_seed")


def take_epochs(fields: dict[str, Any]) -> float | None:
    """Take out of the fields how many epochs they ask for, if they do: data turns them into iterations."""
    for name in SLIPS:  # recipes have no field for epochs, so their own hint does not know it
        if name in fields:
            raise UserError(f"there is no field '{name}'; did you mean 'recipe.epochs'?")
    if "recipe.epochs" not in fields:
        return None
    if "recipe.iterations" in fields:
        raise UserError("recipe.epochs and recipe.iterations both set the length of training; give one of them")
    epochs = convert(float, fields.pop("recipe.epochs"), where="recipe.epochs")
    if not 0 < epochs <= MOST_EPOCHS:
        raise UserError(
            f"recipe.epochs is {epochs:g}; it must be above 0 and at most {MOST_EPOCHS:,}, and may be a fraction"
        )
    return epochs


def take_form(fields: dict[str, Any]) -> bool:
    """Take out of the fields in which form a detector is trained, and return whether it is the alternating one."""
    form = str(fields.pop(FORM, JOINT)).lower()
    if form not in (JOINT, ALTERNATING):
        raise UserError(f"{FORM} is {form!r}; choose {JOINT} or {ALTERNATING}")
    if form == JOINT:
        return False
    for name in ("task.trains", "task.trunks"):
        if name in fields:
            raise UserError(f"{FORM}={ALTERNATING} sets {name} in each of its steps; leave out {name}")
    return True


def with_epochs(trial: Trial, epochs: float | None, dataset: Dataset) -> Trial:
    """Return the trial with as many iterations as so many epochs of its images have, if any were asked for."""
    if epochs is None:
        return trial
    iterations = max(1, round(epochs * count_trained(dataset.train, trial.data) / trial.recipe.batch))
    return replace(trial, recipe=replace(trial.recipe, iterations=iterations))


def refuse_without_files(dataset: Dataset) -> None:
    """Refuse data.on_bad_image where there are no files that could be bad."""
    if not dataset.has_files:
        raise UserError(
            f"data.on_bad_image is only for folders of photographs, and {dataset.name} is not one; leave out "
            "data.on_bad_image"
        )


def _choose_data(dataset: Dataset, fields: dict[str, Any]) -> DataSpec:
    for field in ("name", "fingerprint"):
        if field in fields:
            raise UserError(f"data.{field} cannot be set, because the data determines it; write data=NAME|FOLDER")
    if "on_bad_image" in fields:
        refuse_without_files(dataset)
    data = override(DataSpec(name=dataset.name, fingerprint=dataset.fingerprint), fields, where="data.")
    if "held_out_seed" in fields and not dataset.held_out and not data.validation:
        raise UserError(f"{dataset.name} has its own test images, so none are held out; leave out data.held_out_seed")
    return data


def read_trial_file(path: Path, fields: dict[str, str]) -> Trial:
    """Read a whole trial from a TOML file, with its seed and dotted fields overridden."""
    data = read_toml(path)
    try:
        trial = trial_from_dict(data)
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    return _name_choice(change_trial(trial, fields))


def _name_choice(trial: Trial) -> Trial:
    """Return a trial that names the score by which it keeps the best weights, where it asks for the task's first."""
    if trial.recipe.keep_best != HEADLINE:
        return trial
    return replace(trial, recipe=replace(trial.recipe, keep_best=find_shown(trial).scores[0].name))
