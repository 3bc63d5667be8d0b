"""What tells trials apart, in few words: the network, the recipe it is nearest to, and what was changed."""

import functools
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from reslab.json_text import to_json
from reslab.report.verdicts import IMMATERIAL, PRECISIONS
from reslab.runs.directory import RunDirectory
from reslab.runs.origins import DIGITS, count_images, find_beginning, name_start
from reslab.spec import Spec, name_of
from reslab.spec.codec import differing_leaves, encode, flatten
from reslab.spec.families import IMAGENET_BLOCKS
from reslab.spec.optimization import USUAL as USUAL_OF_KIND
from reslab.spec.recipe import RECIPES, Recipe, space_evaluations
from reslab.spec.trial import START, Trial, trial_to_dict

# The data implies these, so they tell no two networks on one dataset apart.
IMPLIED = ("classes", "channels", "input_size")
PARTS = r"^(data|network|recipe)\."  # of a trial, left out before its fields
NO_ORIGINS: Mapping[str, str] = MappingProxyType({})
# Told of trials that have it otherwise.
USUAL = {"data.on_bad_image": "stop", "data.held_out_seed": 0, "data.validation": 0.0, "recipe.stop_after": 0}
# What a warm-up does not heed: one that ends by the error, one that lasts for a number of iterations.
UNHEEDED = {True: ("iterations", "initial"), False: ("learning_rate", "until_error_percent", "window")}


def data_label(trial: Trial) -> str:
    """Name a trial's data, and its split where that is not the usual one."""
    return trial.data.name if trial.data.split == "full" else f"{trial.data.name}, {trial.data.split} split"


def network_label(spec: Spec) -> str:
    """Name a network briefly: without its family's prefix, and without what the data implies."""
    name, *differing = name_of(spec).split()
    short = name.removeprefix("cifar-")
    if short != name and int(short.rpartition("-")[2]) not in IMAGENET_BLOCKS:
        name = short
    return " ".join([name, *[field for field in differing if field.partition("=")[0] not in IMPLIED]])


def name_origins(runs: Iterable[tuple[Trial, RunDirectory]]) -> dict[str, str]:
    """Return what people would call weights and versions of data, by the digests that trials know them by.

    Weights go by what a run says of them: weights=cifar10. Where data of one name had several contents, each goes by
    its number of training images, or, if that does not tell them apart, by its place in time: version=2.
    """
    names: dict[str, str] = {}
    starts: dict[tuple[str, str, str], set[str]] = {}
    versions: dict[tuple[str, int], dict[str, int | None]] = {}
    for trial, run in sorted(runs, key=lambda one: find_beginning(one[1])):
        if trial.start is not None and (weights := name_start(trial, run)):
            starts.setdefault((trial.data.name, name_of(trial.network), weights), set()).add(trial.start)
        counted = count_images(run)
        versions.setdefault(_draw(trial), {}).setdefault(trial.data.fingerprint, counted[0] if counted else None)
    for (*_, weights), digests in starts.items():  # a file that was written anew has its name still
        names |= {one: f"weights={weights}" + (f"#{one[:DIGITS]}" if len(digests) > 1 else "") for one in digests}
    for counts in versions.values():
        telling = None not in counts.values() and len({*counts.values()}) == len(counts)
        for number, (fingerprint, images) in enumerate(counts.items(), start=1):
            names[fingerprint] = f"images={images}" if telling else f"version={number}"
    return names


def label_trials(
    trials: Sequence[tuple[Trial, int]], departing: Sequence[Mapping[str, Any]], origins: Mapping[str, str] = NO_ORIGINS
) -> list[str]:
    """Name each trial's network, and the fields in which it differs from others of that network on that data.

    The usual one among them goes by the network's name alone: it departs least from its recipe, then has the most runs,
    then, of one recipe, the finest precision. Where recipes differ a trial names its own, and of its fields those that
    were changed. What is `departing` from a recipe is always told, and so is, by its name in `origins`, what a trial
    started from, and which version of the data it had where there are several.
    """
    names = [(data_label(trial), network_label(trial.network)) for trial, _ in trials]
    fields = [_telling(trial) for trial, _ in trials]
    recipes = [nearest_recipe(trial.recipe) for trial, _ in trials]
    like: dict[tuple[str, str], list[int]] = {}
    versions: dict[tuple[str, int], list[str]] = {}
    for index, (name, (trial, _)) in enumerate(zip(names, trials, strict=True)):
        like.setdefault(name, []).append(index)
        known = versions.setdefault(_draw(trial), [])
        known += [trial.data.fingerprint] if trial.data.fingerprint not in known else []
    ranks = [(len(changed), -runs) for changed, (_, runs) in zip(departing, trials, strict=True)]
    fineness = [PRECISIONS.index(trial.recipe.precision) for trial, _ in trials]
    labels = []
    for index, (name, (trial, _)) in enumerate(zip(names, trials, strict=True)):
        first = min(ranks[twin] for twin in like[name])
        usual = [twin for twin in like[name] if ranks[twin] == first]
        if len({recipes[twin] for twin in usual}) == 1:
            finest = min(fineness[twin] for twin in usual)
            usual = [twin for twin in usual if fineness[twin] == finest]
        others = usual if len(usual) == 1 else like[name]
        recipe, told = recipes[index], []
        if any(recipes[twin] != recipe for twin in others):
            others, told = like[name], [f"recipe={recipe}"]
        differing = [
            f"{re.sub(PARTS, '', field)}={write_value(value)}"
            for field, value in fields[index].items()
            if field in departing[index]
            or (
                any(fields[twin].get(field) != value for twin in others)
                and not (told and field in _fields_of(recipe) and _fields_of(recipe)[field] == value)
            )
        ]
        labels.append(" ".join([name[1], *_name_own(trial, versions[_draw(trial)], origins), *told, *differing]))
    return labels


def _draw(trial: Trial) -> tuple[str, int]:
    """Return what data has one content under, unless it was changed: its name, and what draws its test images."""
    return trial.data.name, trial.data.held_out_seed


def _name_own(trial: Trial, versions: Sequence[str], origins: Mapping[str, str]) -> list[str]:
    """Return what a trial started from, if from weights, and which of several versions of its data it had."""
    content = trial.data.fingerprint
    told = [] if trial.start is None else [origins.get(trial.start, f"weights={trial.start[:DIGITS]}")]
    return told + ([origins.get(content, f"version={versions.index(content) + 1}")] if len(versions) > 1 else [])


def label_each(trials: Sequence[Trial], origins: Mapping[str, str] = NO_ORIGINS) -> dict[Trial, str]:
    """Name each trial so that those that differ in more than their seed are told apart."""
    kinds = [replace(trial, seed=0) for trial in trials]
    counts = Counter(kinds)
    labels = label_trials(list(counts.items()), find_departing(list(counts)), origins)
    by_kind = dict(zip(counts, labels, strict=True))
    return {trial: by_kind[kind] for trial, kind in zip(trials, kinds, strict=True)}


def find_departing(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """Return in what each trial departs from its recipe, but for what all on its data have in common."""
    on: dict[str, list[Trial]] = {}
    for trial in trials:
        on.setdefault(data_label(trial), []).append(trial)
    shared = {data: shared_departures(members) for data, members in on.items()}
    return [
        {
            field: value
            for field, value in _departures(trial).items()
            if field.removeprefix("recipe.") not in shared[data_label(trial)]
        }
        for trial in trials
    ]


def shared_departures(trials: Sequence[Trial]) -> dict[str, str]:
    """Return in what all of `trials` depart from the recipes they are nearest to, as it is written."""
    first, *others = [_departures(trial) for trial in trials]
    shared = {field: value for field, value in first.items() if all(other.get(field) == value for other in others)}
    return {field.removeprefix("recipe."): write_value(value) for field, value in shared.items()}


def _departures(trial: Trial) -> dict[str, Any]:
    """Return the material fields of a trial's recipe that are not those of the recipe it is nearest to."""
    whole = _fields_of(nearest_recipe(trial.recipe))
    return {
        field: value
        for field, value in flatten(encode(trial.recipe), "recipe.").items()
        if whole.get(field) != value and field not in IMMATERIAL and field not in _follow_from_kind(trial.recipe)
    }


def _telling(trial: Trial) -> dict[str, Any]:
    """Return what a trial's short names leave out, but for its origins, and for what is usual of data."""
    implied = {field: getattr(trial.network, field, None) for field in IMPLIED}
    fields = flatten({**trial_to_dict(trial), "network": implied})
    hidden = ["seed", START, "data.fingerprint"]
    base = RECIPES[nearest_recipe(trial.recipe)]
    if trial.recipe.iterations != base.iterations and trial.recipe == space_evaluations(trial.recipe, base):
        hidden.append("recipe.evaluate_every")  # it follows from the length
    if trial.start is None or trial.preprocess is not None:
        hidden.append("recipe.centring")  # told where it departs, or where weights would have images otherwise
    hidden += flatten(encode(trial.preprocess), "preprocess.") if trial.preprocess else []
    hidden += _follow_from_kind(trial.recipe)
    if trial.recipe.warmup is not None:
        hidden += [f"recipe.warmup.{field}" for field in UNHEEDED[trial.recipe.warmup.is_by_error]]
    return {field: value for field, value in fields.items() if field not in hidden and USUAL.get(field) != value}


def _follow_from_kind(recipe: Recipe) -> list[str]:
    """Return the fields that another kind of optimizer brought along, where nobody changed them since."""
    optimizer = recipe.optimizer
    if optimizer.kind == RECIPES[nearest_recipe(recipe)].optimizer.kind:
        return []
    brought = USUAL_OF_KIND[optimizer.kind].items()
    return [f"recipe.optimizer.{name}" for name, value in brought if getattr(optimizer, name) == value]


@functools.cache
def nearest_recipe(recipe: Recipe) -> str:
    """Return the name of the recipe from which this one differs in the fewest fields."""
    return min(RECIPES, key=lambda name: len(differing_leaves(encode(recipe), encode(RECIPES[name]))))


@functools.cache
def _fields_of(recipe: str) -> dict[str, Any]:
    return flatten(encode(RECIPES[recipe]), "recipe.")


def write_value(value: Any) -> str:
    """Write a field's value as one would type it."""
    return value if isinstance(value, str) else to_json(value)
