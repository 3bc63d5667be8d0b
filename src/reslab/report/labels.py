"""What tells trials apart, in few words: the network, the recipe it is nearest to, and what was changed."""

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from reslab.json_text import to_json
from reslab.report.verdicts import IMMATERIAL, PRECISIONS
from reslab.spec import Spec, name_of
from reslab.spec.codec import differing_leaves, encode, flatten
from reslab.spec.families import IMAGENET_BLOCKS
from reslab.spec.recipe import RECIPES, Recipe
from reslab.spec.trial import Trial, trial_to_dict

# The data implies these, so they tell no two networks on one dataset apart.
IMPLIED = ("classes", "channels", "input_size")
DIGESTS, DIGITS = ("data.fingerprint", "start"), 12  # as many as in a run's id


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


def label_trials(trials: Sequence[tuple[Trial, int]], departing: Sequence[Mapping[str, Any]]) -> list[str]:
    """Name each trial's network, and the fields in which it differs from others of that network on that data.

    The usual one among them goes by the network's name alone: it departs least from its recipe, then has the most runs,
    then, of one recipe, the finest precision. Where recipes differ a trial names its own, and of its fields those that
    were changed. What is `departing` from a recipe is always told.
    """
    names = [(data_label(trial), network_label(trial.network)) for trial, _ in trials]
    fields = [_telling(trial) for trial, _ in trials]
    recipes = [nearest_recipe(trial.recipe) for trial, _ in trials]
    like: dict[tuple[str, str], list[int]] = {}
    for index, name in enumerate(names):
        like.setdefault(name, []).append(index)
    ranks = [(len(changed), -runs) for changed, (_, runs) in zip(departing, trials, strict=True)]
    fineness = [PRECISIONS.index(trial.recipe.precision) for trial, _ in trials]
    labels = []
    for index, name in enumerate(names):
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
            f"{field.removeprefix('recipe.')}={_written(value, field)}"
            for field, value in fields[index].items()
            if field in departing[index]
            or (
                any(fields[twin].get(field) != value for twin in others)
                and not (told and field in _fields_of(recipe) and _fields_of(recipe)[field] == value)
            )
        ]
        labels.append(" ".join([name[1], *told, *differing]))
    return labels


def label_each(trials: Sequence[Trial]) -> dict[Trial, str]:
    """Name each trial so that those that differ in more than their seed are told apart."""
    kinds = [replace(trial, seed=0) for trial in trials]
    counts = Counter(kinds)
    labels = label_trials(list(counts.items()), find_departing(list(counts)))
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
    return {field.removeprefix("recipe."): _written(value, field) for field, value in shared.items()}


def _departures(trial: Trial) -> dict[str, Any]:
    """Return the material fields of a trial's recipe that are not those of the recipe it is nearest to."""
    whole = _fields_of(nearest_recipe(trial.recipe))
    return {
        field: value
        for field, value in flatten(encode(trial.recipe), "recipe.").items()
        if whole.get(field) != value and field not in IMMATERIAL
    }


def _telling(trial: Trial) -> dict[str, Any]:
    """Return what a trial's short names leave out."""
    implied = {field: getattr(trial.network, field, None) for field in IMPLIED}
    return flatten({**trial_to_dict(trial), "network": implied, "seed": None})


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


def _written(value: Any, field: str) -> str:
    return value[:DIGITS] if field in DIGESTS and isinstance(value, str) else write_value(value)
