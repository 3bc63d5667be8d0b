"""Checks before a trial runs, from the command line and from Python alike: refusals, doubts, memory, disk.

What goes together, a trial with its data and a trained network with what it is shown, is decided here too. How long a
trial will take is `estimate`'s to tell: that costs a second or two.
"""

from collections.abc import Iterable, Sequence

import torch

from reslab.data.dataset import Dataset, count_trained, count_validation
from reslab.data.photos.resizing import SIDE_MULTIPLE, crop_side
from reslab.data.validation import hold_back
from reslab.errors import UserError, choices
from reslab.experiments.estimate import disk_needs
from reslab.experiments.sizes import check_memory, measure_sizes, part_of, trial_bytes
from reslab.files import refuse_full_disk
from reslab.networks import Network, build
from reslab.networks.freezing import freeze, refuse_no_part
from reslab.runs.directory import RunDirectory
from reslab.runtime.listener import Listener
from reslab.runtime.processes import refuse_undivided
from reslab.shipped import read_imagenet_classes
from reslab.spec import Spec, name_of
from reslab.spec.task import tasks_for
from reslab.spec.trial import Trial
from reslab.tasks.catalogue import find_shown
from reslab.tasks.task import find_task

ENOUGH_TO_CHOOSE = 100  # images: the errors of fewer tie, or differ by luck


def preflight(trial: Trial, dataset: Dataset, *, device: str, num_processes: int = 1, listener: Listener) -> None:
    """Refuse what cannot be trained; warn where memory looks short, and of what is hardly meant."""
    refuse_unfit_trial(trial, dataset, num_processes=num_processes)
    for sentence in find_worries([trial], dataset, device=device, num_processes=num_processes):
        listener.warn(sentence)


def find_worries(trials: Sequence[Trial], dataset: Dataset, *, device: str, num_processes: int = 1) -> dict[str, Trial]:
    """Return doubts, each once, with a trial it is about; first, where memory looks short, that of the largest."""
    largest = max(trials, key=lambda trial: trial_bytes(trial, device=device))
    shortage = check_memory(largest, dataset, device=device, num_processes=num_processes)
    doubts = {doubt: trial for trial in trials for doubt in list_doubts(trial, dataset, device=device)}
    return ({shortage: largest} if shortage else {}) | doubts


def list_doubts(trial: Trial, dataset: Dataset, *, device: str) -> list[str]:
    """Return what can be trained on a device and is hardly meant, a sentence each."""
    doubts, recipe = [], trial.recipe
    images = count_trained(dataset.train, trial.data)
    if recipe.batch > images:
        doubts.append(
            f"recipe.batch is {recipe.batch:,}, but there are only {images:,} training images, so images repeat "
            "within a batch; choose a smaller batch"
        )
    if recipe.warmup is not None and recipe.warmup.iterations > recipe.iterations:
        doubts.append(
            f"recipe.warmup.iterations is {recipe.warmup.iterations:,}, but the run has only {recipe.iterations:,} "
            "iterations, so it never reaches its full learning rate; choose a shorter warm-up"
        )
    held = count_validation(len(dataset.train), trial.data)
    if recipe.keep_best not in (None, "loss") and 0 < held < ENOUGH_TO_CHOOSE:
        tells_more = ", or set recipe.keep_best=loss, which tells more" if "loss" in _list_choices(trial) else ""
        doubts.append(
            f"recipe.keep_best={recipe.keep_best} chooses by only {held} images, so chance decides between tests; "
            f"raise data.validation{tells_more}"
        )
    if recipe.freeze is not None and trial.start is None:
        doubts.append("recipe.freeze without weights= freezes random weights; give weights=FILE to start from")
    if recipe.precision == "fp16" and device == "cpu":
        doubts.append("recipe.precision=fp16 is for GPUs and slow on a CPU; set recipe.precision=bf16")
    return doubts


def refuse_short_disk(runs: Iterable[tuple[Trial, RunDirectory]]) -> None:
    """Refuse runs for which the disk has no room; while one is written, it takes a checkpoint more."""
    pairs = list(runs)
    needs = [disk_needs(trial) for trial, _ in pairs]
    there = sum(path.stat().st_size for _, run in pairs for path in run.path.rglob("*") if path.is_file())
    needed = sum(need.total_bytes for need in needs) - there + max(need.checkpoint_bytes for need in needs)
    place = pairs[0][1].path if len(pairs) == 1 else pairs[0][1].path.parent
    refuse_full_disk(place, needed, remedy="choose another folder with --runs")


def refuse_unfit_trial(trial: Trial, dataset: Dataset, *, num_processes: int = 1) -> None:
    """Refuse a trial whose network, recipe or task does not go with the data, or whose batches cannot be shared."""
    served = tasks_for(dataset.target)
    if trial.task.name not in served:
        raise UserError(
            f"the task is {trial.task.name}, but {dataset.name} is for {served[0]}; give data for {trial.task.name}"
        )
    find_task(trial.task).refuse_recipe(trial.recipe)
    if trial.start is None and trial.task.needs_start:
        raise UserError(
            f"{trial.task.needs_start} goes on from a trained network, but this trial starts from random weights; "
            "give weights=FILE"
        )
    names, remedy = (
        trial.task.name_outputs(dataset.class_names),
        "leave out network.* fields so that they follow the data",
    )
    refuse_misfit(name_of(trial.network), trial.network, dataset, names, remedy=remedy)
    measure_sizes(trial)  # refuses inputs that do not pass through
    refuse_undivided(trial.recipe, num_processes)
    if trial.recipe.freeze is not None:
        refuse_no_part(build(trial.network, task=trial.task, device="meta"), trial.recipe.freeze)
    _refuse_lone_values(trial, num_processes)
    dataset.refuse_trial(trial)
    _refuse_no_choice(trial, dataset)
    _refuse_small_crops(trial)


def refuse_misfit(origin: str, spec: Spec, dataset: Dataset, names: tuple[str, ...], *, remedy: str) -> None:
    """Refuse a network whose outputs are not as many as their `names`, or whose inputs are not the data's."""
    _refuse_other_count(origin, spec, dataset, names, remedy=remedy)
    channels = dataset.channels
    if len(spec.input_shape) != 1 + dataset.dimensions or spec.channels != channels:
        raise UserError(
            f"{origin} takes inputs of {' x '.join(map(str, spec.input_shape))}, but {dataset.name} has images "
            f"of {channels} channel{'s' if channels > 1 else ''}; {remedy}"
        )


def refuse_other_classes(origin: str, network: Network, dataset: Dataset, names: tuple[str, ...]) -> None:
    """Refuse data whose targets, by their `names`, mean something else to a trained network."""
    remedy = "give the data it was trained for"
    _refuse_other_count(origin, network.spec, dataset, names, remedy=remedy)
    known = network.class_names
    if known == tuple(read_imagenet_classes()) and names == tuple(map(str, range(len(names)))):
        return  # folders 0 to 999 are ImageNet's classes by their places
    if known is not None and known != names:
        one, other = next(pair for pair in zip(known, names, strict=True) if pair[0] != pair[1])
        which = "the same classes in another order" if sorted(known) == sorted(names) else "other classes"
        raise UserError(
            f"{origin} was trained for {which}: it has '{one}' where {dataset.name} has '{other}'; {remedy}"
        )


def _refuse_other_count(origin: str, spec: Spec, dataset: Dataset, names: tuple[str, ...], *, remedy: str) -> None:
    if spec.classes != len(names):
        raise UserError(f"{origin} has {spec.classes} outputs, but {dataset.name} has {len(names)} classes; {remedy}")


def _refuse_lone_values(trial: Trial, num_processes: int) -> None:
    """Refuse to normalize one image at a time where a map has a single pixel: one value has no deviation."""
    recipe = trial.recipe
    if part_of(recipe) // (1 if recipe.sync_norms else num_processes) > 1:
        return
    network = build(trial.network, task=trial.task, device="meta").train()
    if recipe.freeze is not None:
        freeze(network, recipe.freeze)
    try:
        network(torch.empty(1, *trial.task.find_input_shape(trial.network), device="meta"))
    except ValueError as error:
        raise UserError(
            f"{name_of(trial.network)} would normalize one image at a time over maps of a single pixel, which is "
            "impossible; choose a larger recipe.batch or network.input_size, or a smaller recipe.accumulate"
        ) from error


def _refuse_no_choice(trial: Trial, dataset: Dataset) -> None:
    """Refuse to keep the best weights by a score that tests do not log, or with no images to choose by."""
    _, held = hold_back(dataset.train, trial.data)  # refuses to hold all of them back
    if held is not None and held.targets.ndim > 1 and not held.targets.any():
        what = "an object" if dataset.target == "boxes" else "a label"
        raise UserError(
            f"none of the {len(held):,} validation images has {what}; "
            "raise data.validation, or set another data.held_out_seed"
        )
    score = trial.recipe.keep_best
    if score is None:
        return
    if score not in (known := _list_choices(trial)):
        raise UserError(f"recipe.keep_best is {score!r}; choose {choices(known)}")
    if not trial.data.validation:
        raise UserError(
            "recipe.keep_best needs validation images, because test images must not choose the weights; "
            "add data.validation=0.1 to hold out a tenth of the training images"
        )


def _list_choices(trial: Trial) -> list[str]:
    """Return the scores by which the best weights can be kept."""
    return [one.name for one in find_shown(trial).scores if "test" in one.logged]


def _refuse_small_crops(trial: Trial) -> None:
    """Refuse progressive resizing that begins with crops the network cannot see, or with none that are smaller."""
    if trial.recipe.resizing.initial == 1:
        return
    channels, whole, _ = trial.network.input_shape
    if (side := crop_side(trial.recipe, 0, whole=whole)) == whole:
        raise UserError(
            f"recipe.resizing.initial is {trial.recipe.resizing.initial:g}, which gives crops of {side} pixels, the "
            f"full size (sizes are multiples of {SIDE_MULTIPLE}); give a smaller fraction, or 1 to turn resizing off"
        )
    try:
        build(trial.network, device="meta").eval()(torch.empty(1, channels, side, side, device="meta"))
    except (RuntimeError, AssertionError) as error:
        raise UserError(
            f"recipe.resizing.initial is {trial.recipe.resizing.initial:g}, but crops of {side} pixels are too "
            f"small for {name_of(trial.network)}; give a larger fraction, or 1 to turn resizing off"
        ) from error
