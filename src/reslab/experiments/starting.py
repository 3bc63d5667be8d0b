"""The initial weights of a training: drawn by the trial's seed, or trained weights, identified by their digest."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from reslab.data.geometry import find_test_side
from reslab.errors import UserError
from reslab.json_text import to_json
from reslab.networks import Network, Weights, build, read_weights
from reslab.networks.build import build_seeded
from reslab.networks.create import adopt_weights, create_trained
from reslab.networks.finite import find_not_finite
from reslab.runtime.listener import Listener
from reslab.runtime.sealed import seal
from reslab.spec import Preprocess, Spec
from reslab.spec.catalogue import contradictions
from reslab.spec.codec import encode, flatten, override
from reslab.spec.preprocess import IMAGENET_MEAN, IMAGENET_STD
from reslab.spec.task_spec import TaskSpec
from reslab.spec.trial import Trial

PIXELS = ("channel_order", "pixel_range", "per_pixel_mean", "mean", "std")  # what is done to them, wherever they are


def initialize(trial: Trial) -> Network:
    """Return the trial's network with the weights its seed draws."""
    return build_seeded(trial.network, task=trial.task, seed=trial.seed)


def start_from(
    trial: Trial,
    weights: str | Path,
    *,
    network: str | Spec | None,
    given: Mapping[str, Any],
    implied: Mapping[str, Any],
    prepares: bool,
) -> Trial:
    """Return the trial with these weights to start from; a network by name, or none, is what they were trained for.

    Some of its fields were given by the user, and the rest are implied by the data, so the user cannot leave those out.
    If it `prepares` images as the weights know them, it says how.
    """
    read, origin = read_weights(weights, like=trial.network), str(weights)
    _refuse_other_task(trial, read, origin=origin)
    for field, (here, before) in contradictions(trial.network, read.spec).items():
        if field in {*implied} - {*given, "classes"}:
            raise UserError(
                f"the weights {origin} take images with {field}={before}, but {trial.data.name} has {field}={here}; "
                "choose other data, or another weight file"
            )
    spec = trial.network
    if network is None or isinstance(network, str):
        spec = create_trained(network, read, {**implied, **given}, origin=origin, where="network.").spec
    trial = replace(trial, network=spec, start=seal({}, read.tensors))
    return replace(trial, preprocess=keep_preparation(trial, read)) if prepares else trial


def _refuse_other_task(trial: Trial, read: Weights, *, origin: str) -> None:
    """Refuse a detector's weights for what is none, and fields of a detector that its weights have no layers for."""
    if read.task.own_layers and not trial.task.own_layers:
        raise UserError(
            f"the weights {origin} are those of a detector, so no {trial.task.name} can start from them; "
            "give the weights of a classifier"
        )
    if read.task.name != trial.task.name:
        return
    here, before = (flatten(encode(task)) for task in (trial.task, read.task))
    free = trial.task.about_training
    for field in [field for field in here if here[field] != before[field] and field not in free]:
        if not _has_same_layers(read.spec, read.task, {field: here[field]}):
            raise UserError(
                f"task.{field}={to_json(here[field])} does not fit the weights {origin}, which were trained with "
                f"task.{field}={to_json(before[field])}; leave out task.{field}, or start from a classifier"
            )


def _has_same_layers(spec: Spec, task: TaskSpec, changes: Mapping[str, Any]) -> bool:
    """Whether weights of a task fit it with these changes, which may be such as no network has."""
    try:
        return _list_shapes(spec, override(task, changes)) == _list_shapes(spec, task)
    except UserError:
        return False


def _list_shapes(spec: Spec, task: TaskSpec) -> dict[str, torch.Size]:
    return {name: tensor.shape for name, tensor in build(spec, task=task, device="meta").state_dict().items()}


def keep_preparation(trial: Trial, read: Weights) -> Preprocess | None:
    """Return how weights know their images, for crops of the trial's size; None where its recipe prepares them so.

    Weights that do not know to which size images are resized before the crop get the usual one. A mean image is of
    other photographs: its mean colour is kept.
    """
    known, crop = read.preprocess, trial.network.input_shape[-1]
    usual = Preprocess(resize=find_test_side(crop), crop=crop, mean=IMAGENET_MEAN, std=IMAGENET_STD)
    if known is None or (known.per_pixel_mean and trial.recipe.centring == "mean-image"):
        return None
    if read.mean_image is not None:
        mean = tuple(read.mean_image.flatten(1).mean(1).tolist())
        std = known.std * (len(mean) // len(known.std))
        known = replace(known, per_pixel_mean=False, mean=mean, std=std)
    resize = usual.resize
    if known.resize and known.crop and known.resize != find_test_side(known.crop):
        resize = round(known.resize * crop / known.crop)
    kept = replace(known, resize=resize, crop=crop)
    if trial.task.sides is not None:  # images stay whole, and the task says how large
        return replace(kept, resize=None, crop=None)
    return None if kept == usual and trial.recipe.centring == "imagenet" else kept


def refuse_other_start(trial: Trial, weights: str | Path | None) -> None:
    """Refuse weights for a trial that starts from random ones; require them for one that starts from trained ones."""
    if trial.start is None and weights is not None:
        raise UserError(
            f"this trial starts from random weights, so weights={weights} cannot be used; leave out weights="
        )
    if trial.start is not None and weights is None:
        raise UserError(
            f"this trial starts from trained weights (digest {trial.start[:12]}); give their file with weights=FILE"
        )


def read_start(trial: Trial, weights: str | Path | None) -> Weights | None:
    """Read the weights that a trial starts from, if any; refuse other weights."""
    refuse_other_start(trial, weights)
    if trial.start is None or weights is None:
        return None
    read = read_weights(weights, like=trial.network)
    if (found := seal({}, read.tensors)) != trial.start:
        raise UserError(
            f"{weights} is not the weight file that this trial starts from: its digest is {found[:12]}, not "
            f"{trial.start[:12]}; give the file with that digest"
        )
    return read


def load_start(network: Network, trial: Trial, weights: str | Path | None) -> Weights | None:
    """Load what a trial starts from into its network; return what was loaded, if anything."""
    read = read_start(trial, weights)
    if read is not None:
        adopt_weights(network, read, origin=str(weights))
        if culprit := find_not_finite(network.state_dict()):
            raise UserError(
                f"training cannot start from weights={weights}: {culprit} is not finite; give another weight file"
            )
    return read


def warn_of_other_preparation(started: Weights, preprocess: Preprocess, listener: Listener) -> None:
    """Warn if images will be prepared in another way than the weights to start from were trained with."""
    before = started.preprocess
    if before is not None and any(getattr(before, field) != getattr(preprocess, field) for field in PIXELS):
        remedy = "leave out recipe.freeze, so that every layer can adapt"
        if preprocess.crop:  # photographs, which are prepared so only where that is asked for
            remedy = "leave out recipe.centring to prepare them the same way"
        listener.warn(
            f"the weights to start from were trained with {before.describe()}, but this run prepares images with "
            f"{preprocess.describe()}; {remedy}"
        )
