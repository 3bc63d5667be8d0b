"""Runs that resume with other means, and finished runs that get lost weights back: the warnings before and after.

Means are the device, kernels, processes and threads, which change the order of sums, and the versions of what computes,
draws and decodes, which may. What an old record does not tell is not compared. The record of a finished run whose
weights are lost stands until the new one is written, and counts as finished all along.
"""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from reslab.data.dataset import Dataset
from reslab.errors import UserError
from reslab.json_text import to_json
from reslab.runs.directory import RunDirectory
from reslab.runs.weights import find_damage, refuse_other_weights
from reslab.runtime.listener import Listener
from reslab.runtime.sealed import read_sealed
from reslab.spec import TorchvisionSpec
from reslab.spec.trial import Trial
from reslab.training.checkpoint import newest_step
from reslab.training.stepping import Runtime

# What a sitting records that decides on the last bits.
MEANS = ("device", *[field.name for field in fields(Runtime)], "processes", "threads")


def warn_of_other_means(
    run: RunDirectory, sitting: Mapping[str, Any], *, trial: Trial, dataset: Dataset, listener: Listener
) -> None:
    """Warn what changes if a run resumes with other means than in its last sitting."""
    if not newest_step(run.checkpoints):
        return
    before = {"processes": 1, "lanes": 1, "versions": {}} | run.read("provenance")["sittings"][-1]
    means = _find_changed(MEANS, before, sitting)
    drawing = set(dataset.list_packages(trial))
    computing = {"torch", "torchvision"} if isinstance(trial.network, TorchvisionSpec) else {"torch"}
    packages = _find_changed(sorted(drawing | computing), before["versions"], sitting["versions"])
    if not means and not packages:
        return
    changes = [f"{name}={to_json(sitting[name])} ({to_json(before[name])} before)" for name in means]
    changes += [f"{name} {sitting['versions'][name]} ({before['versions'][name]} before)" for name in packages]
    effects = ["the batches may differ" if drawing.intersection(packages) else "the batches are the same"]
    if means:
        effects.append("sums are computed in a different order")
    elif computing.intersection(packages):
        effects.append("sums may be computed in a different order")
    if "processes" in means:
        if trial.recipe.augmentation.mixup or trial.recipe.augmentation.cutmix:
            effects.append("mixup or CutMix pairs images differently")
        if not trial.recipe.sync_norms:
            part = trial.recipe.batch // trial.recipe.accumulate // sitting["processes"]
            effects.append(f"batches are normalized over {part} images")
    ends = "will not" if means else "may not"
    listener.warn(
        f"the run resumes with {', '.join(changes)}: {', '.join(effects)}, and the result {ends} be exactly the same"
    )


def _find_changed(names: Iterable[str], before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return the names that both know, and know differently."""
    return [name for name in names if name in before and name in now and before[name] != now[name]]


def find_loss(run: RunDirectory, trial: Trial) -> str:
    """Say whether a finished run's weights are missing or damaged; an empty string if they match their digest.

    Those of another run are refused: they may be the only ones it has, and are not written over.
    """
    if damage := find_damage(run.weights):
        return damage
    try:
        read_sealed(run.weights)
    except UserError:
        return "damaged"
    refuse_other_weights(run.weights, trial)
    return ""


def announce_mending(run: RunDirectory, trial: Trial, lost: str, listener: Listener) -> None:
    """Say how lost weights are restored."""
    step = newest_step(run.checkpoints)
    if step >= run.result().get("step", trial.recipe.iterations):  # which early stopping may have ended before
        how = "restoring them from its last checkpoint"
    else:
        how = "training it again" + (f" from iteration {step:,}" if step else "")
    listener.warn(f"{run.path} is finished, but its weights are {lost}; {how}")


def compare_mended(run: RunDirectory, recorded: Mapping[str, Any], listener: Listener) -> None:
    """Warn if a restored run has other results than were recorded, as can happen on another device."""
    result = run.result()
    other = [
        f"{name} is {result[name]:.6g}, was {value:.6g}"
        for name, value in recorded.items()
        if isinstance(value, (int, float)) and isinstance(result.get(name), (int, float)) and result[name] != value
    ]
    if other:
        listener.warn(f"{run.path} was restored with a different result: {', '.join(other)}")
