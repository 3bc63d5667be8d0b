"""A trial and its data become a task: of arrays or of photographs. What does not go together is refused here."""

from __future__ import annotations

from collections.abc import Callable

import torch

from reslab.data.batches import refuse_small_images
from reslab.data.dataset import Dataset, count_held_back
from reslab.data.photos.folder import PhotoDataset
from reslab.errors import UserError
from reslab.experiments.arrays import make_array_task
from reslab.experiments.labelled import LabelledTask
from reslab.experiments.multilabel import MultiLabelTask, refuse_single_label_recipe
from reslab.experiments.photos import PhotoTask, make_photo_task
from reslab.experiments.sizes import measure_sizes, part_of
from reslab.networks import Network, build
from reslab.networks.freezing import freeze, refuse_no_part
from reslab.runs.directory import RunDirectory
from reslab.spec import Spec, name_of
from reslab.spec.recipe import AugmentationSpec
from reslab.spec.trial import Trial
from reslab.training.processes import ALONE, Processes, refuse_undivided
from reslab.training.schedule import SIDE_MULTIPLE, crop_side


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
    measure_sizes(trial.network)  # refuses inputs that do not pass through
    refuse_undivided(trial.recipe, num_processes)
    if trial.recipe.freeze is not None:
        refuse_no_part(build(trial.network, device="meta"), trial.recipe.freeze)
    _refuse_lone_values(trial, num_processes)
    if trial.task != dataset.task:
        raise UserError(f"the trial's task is {trial.task} and {dataset.name} is for {dataset.task}; give other data")
    if trial.task == "multi-label":
        refuse_single_label_recipe(trial)
    if isinstance(dataset, PhotoDataset):
        _refuse_on_photos(trial)
    else:
        _refuse_on_arrays(trial)
        augmentation, side = trial.recipe.augmentation, min(dataset.train.images.shape[-2:])
        refuse_small_images(side, padding=augmentation.padding, edges=augmentation.edges, cutout=augmentation.cutout)


def list_doubts(trial: Trial, dataset: Dataset | PhotoDataset, *, device: str) -> list[str]:
    """Return what can be trained on a device and is hardly meant, a sentence each."""
    doubts, recipe = [], trial.recipe
    images = len(dataset.train) - count_held_back(dataset.train, trial.data.split)
    if recipe.batch > images:
        doubts.append(
            f"recipe.batch is {recipe.batch:,} and there are {images:,} training images, so that some come up again "
            "within a batch; choose a smaller one"
        )
    if recipe.freeze is not None and trial.start is None:
        doubts.append("recipe.freeze without weights= keeps what it freezes random; give weights=FILE to start from")
    if recipe.precision == "fp16" and device == "cpu":
        doubts.append("recipe.precision=fp16 is for GPUs and slow on a CPU; bf16 is the fast one here")
    return doubts


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


def _refuse_on_arrays(trial: Trial) -> None:
    """Refuse on images of one size what is done to photographs only."""
    _refuse_changed(trial.recipe.augmentation, ("crop", "colour", "policy", "mixup", "cutmix"), kind="photographs")
    if trial.recipe.centring != "mean-image":
        raise UserError(f"recipe.centring is {trial.recipe.centring}, which is for photographs; leave it out")
    if trial.recipe.resizing.initial != 1:
        raise UserError(
            f"recipe.resizing.initial is {trial.recipe.resizing.initial:g}, which is for photographs; leave it out"
        )


def _refuse_on_photos(trial: Trial) -> None:
    """Refuse on photographs what is meant for images of one size."""
    if trial.recipe.augmentation.crop == "padded":
        raise UserError(
            "recipe.augmentation.crop is padded, which is for images of one size; "
            "choose shorter-side or resized, or recipe=photos"
        )
    small = ("padding", "mean_first", "edges", "alternating_flips", "cutout")
    _refuse_changed(trial.recipe.augmentation, small, kind="images of one size")
    if trial.data.split != "full":
        raise UserError(f"data.split is {trial.data.split}; a folder of photographs has its own val, or holds some out")
    _refuse_small_crops(trial)


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


def _refuse_changed(augmentation: AugmentationSpec, fields: tuple[str, ...], *, kind: str) -> None:
    """Refuse what would be recorded and not be done."""
    for field in fields:
        if (value := getattr(augmentation, field)) != getattr(AugmentationSpec(), field):
            raise UserError(f"recipe.augmentation.{field} is {value}, which is for {kind}; leave it out")


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
        which = "its classes in another order" if sorted(names) == sorted(dataset.class_names) else "other classes"
        raise UserError(
            f"{origin} was trained for {which} than {dataset.name}'s: '{one}' where that has '{other}'; {remedy}"
        )


def _refuse_other_count(origin: str, spec: Spec, dataset: Dataset | PhotoDataset, *, remedy: str) -> None:
    if spec.classes != len(dataset.class_names):
        raise UserError(
            f"{origin} tells {spec.classes} classes apart and {dataset.name} has {len(dataset.class_names)}; {remedy}"
        )
