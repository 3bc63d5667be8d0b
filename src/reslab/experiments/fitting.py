"""What goes together: a trial with its data, a network with what it is shown. What does not is refused here."""

from __future__ import annotations

import torch

from reslab.data.dataset import Dataset
from reslab.data.photos.resizing import SIDE_MULTIPLE, crop_side
from reslab.errors import UserError
from reslab.experiments.sizes import measure_sizes, part_of
from reslab.networks import Network, build
from reslab.networks.freezing import freeze, refuse_no_part
from reslab.runtime.processes import refuse_undivided
from reslab.spec import Spec, name_of
from reslab.spec.task import tasks_for
from reslab.spec.trial import Trial
from reslab.tasks.task import find_task


def refuse_unfit_trial(trial: Trial, dataset: Dataset, *, num_processes: int = 1) -> None:
    """Refuse a trial whose network, recipe or task does not go with the data, or whose batches cannot be shared."""
    names, remedy = trial.task.name_outputs(dataset.class_names), "leave network.* fields to follow the data"
    refuse_misfit(name_of(trial.network), trial.network, dataset, names, remedy=remedy)
    measure_sizes(trial.network)  # refuses inputs that do not pass through
    refuse_undivided(trial.recipe, num_processes)
    if trial.recipe.freeze is not None:
        refuse_no_part(build(trial.network, device="meta"), trial.recipe.freeze)
    _refuse_lone_values(trial, num_processes)
    served = tasks_for(dataset.target)
    if trial.task.name not in served:
        raise UserError(f"the trial's task is {trial.task.name} and {dataset.name} is for {served[0]}; give other data")
    find_task(trial.task).refuse_recipe(trial.recipe)
    dataset.refuse_trial(trial)
    _refuse_small_crops(trial)


def refuse_misfit(origin: str, spec: Spec, dataset: Dataset, names: tuple[str, ...], *, remedy: str) -> None:
    """Refuse a network whose outputs are not as many as their `names`, or whose inputs are not the data's."""
    _refuse_other_count(origin, spec, dataset, names, remedy=remedy)
    channels = dataset.channels
    if len(spec.input_shape) != 1 + dataset.dimensions or spec.channels != channels:
        raise UserError(
            f"{origin} takes inputs of {' x '.join(map(str, spec.input_shape))} and {dataset.name} has images "
            f"of {channels} channel{'s' if channels > 1 else ''}; {remedy}"
        )


def refuse_other_classes(origin: str, network: Network, dataset: Dataset, names: tuple[str, ...]) -> None:
    """Refuse data whose targets, by their `names`, mean something else to a trained network."""
    remedy = "give the data it was trained for"
    _refuse_other_count(origin, network.spec, dataset, names, remedy=remedy)
    known = network.class_names
    if known is not None and known != names:
        one, other = next(pair for pair in zip(known, names, strict=True) if pair[0] != pair[1])
        which = "its classes in another order" if sorted(known) == sorted(names) else "other classes"
        raise UserError(
            f"{origin} was trained for {which} than {dataset.name}'s: '{one}' where that has '{other}'; {remedy}"
        )


def _refuse_other_count(origin: str, spec: Spec, dataset: Dataset, names: tuple[str, ...], *, remedy: str) -> None:
    if spec.classes != len(names):
        raise UserError(f"{origin} tells {spec.classes} classes apart and {dataset.name} has {len(names)}; {remedy}")


def _refuse_lone_values(trial: Trial, num_processes: int) -> None:
    """Refuse to normalize one image at a time where a map has a single pixel: one value has no deviation."""
    recipe = trial.recipe
    if part_of(recipe) // (1 if recipe.sync_norms else num_processes) > 1:
        return
    network = build(trial.network, device="meta").train()
    if recipe.freeze is not None:
        freeze(network, recipe.freeze)
    try:
        network(torch.empty(1, *trial.network.input_shape, device="meta"))
    except ValueError as error:
        raise UserError(
            f"one image at a time goes through {name_of(trial.network)} and maps of a single pixel cannot be "
            "normalized; choose a larger recipe.batch or network.input_size, or a smaller recipe.accumulate"
        ) from error


def _refuse_small_crops(trial: Trial) -> None:
    """Refuse progressive resizing that begins with crops the network cannot see, or with none that are smaller."""
    if trial.recipe.resizing.initial == 1:
        return
    channels, whole, _ = trial.network.input_shape
    if (side := crop_side(trial.recipe, 0, whole=whole)) == whole:
        raise UserError(
            f"recipe.resizing.initial is {trial.recipe.resizing.initial:g}, and no multiple of {SIDE_MULTIPLE} pixels "
            f"near that is smaller than crops of {whole}; set it to 1, or nearer to 0"
        )
    try:
        build(trial.network, device="meta").eval()(torch.empty(1, channels, side, side, device="meta"))
    except (RuntimeError, AssertionError) as error:
        raise UserError(
            f"recipe.resizing.initial is {trial.recipe.resizing.initial:g}, and crops of {side} pixels do not pass "
            f"through {name_of(trial.network)}; set it to 1, or nearer to it"
        ) from error
