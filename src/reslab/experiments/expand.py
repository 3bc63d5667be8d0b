"""A table or figure becomes the trials that test it, on the paper's images or, reduced, on others."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from reslab.data.arrays.store import data_root
from reslab.data.dataset import Dataset
from reslab.data.photos.folder import PhotoDataset
from reslab.data.photos.imagenet import WHOLE
from reslab.data.photos.label_list import find_list
from reslab.data.photos.reader import read_photos
from reslab.errors import UserError
from reslab.experiments.trials import refuse_without_files, take_epochs, with_epochs
from reslab.paper.claim import IMAGENET, Claim, Setting
from reslab.paper.measurements import Logged
from reslab.runs.directory import list_runs
from reslab.spec.trial import DataSpec, Trial, change_trial

FREE_FIELDS = ("data.split", "data.on_bad_image", "network.checkpointing")


def open_imagenet(place: Path | None, *, runs: Path | None = None) -> PhotoDataset | None:
    """Read ImageNet where it lies, or where it was prepared; None where it was not. Other photographs are themselves.

    It is told by its numbers of classes and images. Photographs are read as the runs under `runs` had them, where those
    are of an earlier version.
    """
    if place is None and not (place := data_root() / IMAGENET.name).is_dir():
        return None
    if listed := find_list(place):
        raise UserError(f"{listed} gives images several labels each, and here they have one; give a folder of classes")
    dataset = read_photos(place)
    if runs is not None:
        dataset = _read_as_recorded(dataset, runs)
    return replace(dataset, name=IMAGENET.name) if _is_imagenet(dataset) else dataset


def _read_as_recorded(dataset: PhotoDataset, runs: Path) -> PhotoDataset:
    if not dataset.may_differ_before:
        return dataset
    known = set[str]()
    for run in list_runs(runs):
        with contextlib.suppress(UserError):  # a damaged run, which judging it tells
            known.add(run.trial().data.fingerprint)
    if dataset.fingerprint in known:
        return dataset
    return next((then for then in dataset.read_before(held_out_seed=0) if then.fingerprint in known), dataset)


def on_these(claims: Iterable[Claim], dataset: Dataset) -> tuple[Claim, ...]:
    """Return claims as far as `dataset` can test them: of photographs other than ImageNet, in a reduced setting."""
    if not dataset.has_files or _is_imagenet(dataset):
        return tuple(claims)
    data = DataSpec(name=dataset.name, fingerprint=dataset.fingerprint)
    lacks = f"ImageNet: {len(dataset.train):,} and {len(dataset.test):,} images of {dataset.name} instead"
    classes = len(dataset.class_names)
    return tuple(
        replace(
            claim,
            settings=tuple(
                replace(setting, data=data, images=None, classes=classes, lacks=lacks) for setting in claim.settings
            ),
        )
        for claim in claims
    )


def _is_imagenet(dataset: Dataset) -> bool:
    return (len(dataset.class_names), len(dataset.train), len(dataset.test)) == WHOLE


def expand(
    claims: Iterable[Claim], dataset: Dataset, *, seeds: int, overrides: Mapping[str, Any] | None = None
) -> dict[Trial, Setting]:
    """Return the trials of seeds 1 to `seeds` that `claims` need, dotted fields overridden, and the setting of each.

    Of an ensemble all members are needed; where a network comes twice, another seed of it too.
    A shortened run that a curve is read off is tested as much more often, unless the fields say how often.
    """
    claims, overrides = list(claims), dict(overrides or {})
    epochs = take_epochs(overrides)
    if "data.on_bad_image" in overrides:
        refuse_without_files(dataset)
    settings = dict.fromkeys(setting for claim in claims for setting in claim.settings)
    wanted = [(setting, seed) for seed in range(1, seeds + 1) for setting in settings]
    wanted += [pair for seed in range(1, seeds + 1) for claim in claims for pair in claim.members(seed)]
    data = DataSpec(name=dataset.name, fingerprint=dataset.fingerprint)
    return {
        _with_readable_log(
            with_epochs(_overridden(replace(setting.trial(seed), data=data), overrides), epochs, dataset),
            [claim for claim in claims if setting in claim.settings],
            given="recipe.evaluate_every" in overrides,
        ): setting
        for setting, seed in wanted
    }


def _with_readable_log(trial: Trial, claims: Iterable[Claim], *, given: bool) -> Trial:
    """Return the trial with a log as fine as `claims` need; refuse one that can have none, or was `given` another."""
    for claim in claims:
        curve, iterations, every = claim.measurement, trial.recipe.iterations, trial.recipe.evaluate_every
        if not isinstance(curve, Logged) or every <= (coarsest := curve.coarsest(iterations)):
            continue
        if not coarsest:
            raise UserError(
                f"recipe.iterations is {iterations:,}, too few to read the curves of {claim.table} off even with "
                f"recipe.evaluate_every=1; give at least {curve.least_iterations:,}"
            )
        if given:
            raise UserError(
                f"recipe.evaluate_every is {every:,}, too coarse to read the curves of {claim.table} off "
                f"{iterations:,} iterations; give at most {coarsest:,}, or leave it out"
            )
        trial = replace(trial, recipe=replace(trial.recipe, evaluate_every=coarsest))
    return trial


def _overridden(trial: Trial, overrides: Mapping[str, Any]) -> Trial:
    for field in overrides:
        group, _, rest = field.partition(".")
        if field not in FREE_FIELDS and (group != "recipe" or not rest):
            raise UserError(
                f"reproduce sets recipe.FIELD, {', '.join(FREE_FIELDS[:-1])} and {FREE_FIELDS[-1]}, and '{field}' is "
                "none of them; anything else would be another experiment: `reslab train` runs those"
            )
    return change_trial(trial, overrides)
