"""A trial and its data become a task: of arrays or of photographs. What does not go together is refused here."""

from __future__ import annotations

from collections.abc import Callable

import torch

from reslab.data.batches import refuse_small_images
from reslab.data.dataset import Dataset
from reslab.data.photos.folder import PhotoDataset
from reslab.errors import UserError
from reslab.experiments.arrays import make_array_task
from reslab.experiments.labelled import LabelledTask
from reslab.experiments.multilabel import MultiLabelTask, refuse_single_label_recipe
from reslab.experiments.photos import PhotoTask, make_photo_task, refuse_photo_recipe, refuse_unfit_recipe
from reslab.networks import Network
from reslab.runs.directory import RunDirectory
from reslab.spec import Spec, name_of
from reslab.spec.trial import Trial
from reslab.training.processes import ALONE, Processes, refuse_undivided


def make_task(
    trial: Trial,
    dataset: Dataset | PhotoDataset,
    *,
    device: torch.device | str,
    processes: Processes = ALONE,
    run: RunDirectory | None = None,
    warn: Callable[[str], None] = lambda sentence: None,
) -> LabelledTask:
    """Pair a trial with its data: arrays of images of one size, or photographs, with one label each or several.

    What is found out about photographs is kept in `run`; `warn` is told of those that are skipped.
    """
    if isinstance(dataset, Dataset):
        return make_array_task(trial, dataset, device=device, processes=processes)
    kind = MultiLabelTask if trial.task == "multi-label" else PhotoTask
    return make_photo_task(trial, dataset, device=device, processes=processes, kind=kind, run=run, warn=warn)


def refuse_unfit_trial(trial: Trial, dataset: Dataset | PhotoDataset, *, num_processes: int = 1) -> None:
    """Refuse a trial whose network, recipe or task does not go with the data, or whose batches cannot be shared."""
    refuse_misfit(name_of(trial.network), trial.network, dataset, remedy="leave network.* fields to follow the data")
    refuse_undivided(trial.recipe, num_processes)
    if trial.task != dataset.task:
        raise UserError(f"the trial's task is {trial.task} and {dataset.name} is for {dataset.task}; give other data")
    if trial.task == "multi-label":
        refuse_single_label_recipe(trial)
    if isinstance(dataset, PhotoDataset):
        refuse_unfit_recipe(trial)
    else:
        refuse_photo_recipe(trial)
        augmentation, side = trial.recipe.augmentation, min(dataset.train.images.shape[-2:])
        refuse_small_images(side, padding=augmentation.padding, edges=augmentation.edges, cutout=augmentation.cutout)


def refuse_misfit(origin: str, spec: Spec, dataset: Dataset | PhotoDataset, *, remedy: str) -> None:
    """Refuse a network whose classes or inputs are not the data's."""
    _refuse_other_count(origin, spec, dataset, remedy=remedy)
    channels = dataset.channels
    if len(spec.input_shape) != 3 or spec.channels != channels:
        raise UserError(
            f"{origin} takes inputs of {' x '.join(map(str, spec.input_shape))} and {dataset.name} has images "
            f"of {channels} channel{'s' if channels > 1 else ''}; {remedy}"
        )


def refuse_other_classes(origin: str, network: Network, dataset: Dataset | PhotoDataset) -> None:
    """Refuse data whose labels mean something else to a trained network."""
    remedy = "give the data it was trained for"
    _refuse_other_count(origin, network.spec, dataset, remedy=remedy)
    names = network.class_names
    if names is not None and names != dataset.class_names:
        one, other = next(pair for pair in zip(names, dataset.class_names, strict=True) if pair[0] != pair[1])
        raise UserError(
            f"{origin} was trained for other classes than {dataset.name}'s: '{one}' where that has '{other}'; {remedy}"
        )


def _refuse_other_count(origin: str, spec: Spec, dataset: Dataset | PhotoDataset, *, remedy: str) -> None:
    if spec.classes != len(dataset.class_names):
        raise UserError(
            f"{origin} tells {spec.classes} classes apart and {dataset.name} has {len(dataset.class_names)}; {remedy}"
        )
