"""The weights that the paper's detectors start from: a plan keeps the trials that given weights fit."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from reslab.errors import UserError
from reslab.experiments.starting import keep_preparation
from reslab.networks import read_weights
from reslab.paper.claim import IMAGENET, Setting
from reslab.runtime.sealed import seal
from reslab.spec import name_of
from reslab.spec.catalogue import contradictions
from reslab.spec.trial import Trial


def start_trials(
    trials: Mapping[Trial, Setting], weights: str | Path | None, *, prepares: bool
) -> dict[Trial, Setting]:
    """Return the trials with `weights` to start from, without those that these do not fit; refuse to fit none.

    Trials that start from random weights stay as they are. Where they `prepares`, images are prepared as weights know
    them.
    """
    if not any(setting.start for setting in trials.values()):
        if weights is not None and trials:
            raise UserError(f"these networks start from random weights, so weights={weights} has no use; leave it out")
        return dict(trials)
    if weights is None:
        raise UserError(
            "detectors start from weights trained on ImageNet, and none are given; add weights=FILE, weights=imagenet "
            "(ResNet-50, fetched with `reslab weights fetch resnet-50`) or weights=torchvision"
        )
    begun: dict[Setting, Trial] = {}
    reasons: dict[str, None] = {}
    for trial, setting in trials.items():
        if setting not in begun:
            try:
                begun[setting] = _start(trial, setting, weights, prepares=prepares)
            except UserError as error:
                reasons[str(error)] = None
    if not begun:
        raise UserError("; ".join(reasons))
    return {
        replace(trial, start=begun[setting].start, preprocess=begun[setting].preprocess): setting
        for trial, setting in trials.items()
        if setting in begun
    }


def _start(trial: Trial, setting: Setting, weights: str | Path, *, prepares: bool) -> Trial:
    """Return the trial with the weights; refuse those of another network, or trained on other data."""
    read = read_weights(weights, like=trial.network)
    if contradictions(trial.network, read.spec).keys() - {"classes"}:
        raise UserError(f"{weights} holds {name_of(read.spec)}, not {setting.network}; give the weights of that")
    wanted, there = ("a classifier", "a detector") if setting.start == IMAGENET.name else ("a detector", "a classifier")
    if (read.task.needs == trial.task.needs) == (setting.start == IMAGENET.name):
        raise UserError(
            f"{setting.network} starts from {wanted} trained on {setting.start}, but {weights} holds {there}; "
            "give other weights"
        )
    trial = replace(trial, start=seal({}, read.tensors))
    return replace(trial, preprocess=keep_preparation(trial, read)) if prepares else trial
