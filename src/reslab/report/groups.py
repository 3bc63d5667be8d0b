"""Runs that differ in nothing but the seed belong together: one name, one colour, one mean curve.

Where several seeds are finished, curves and errors are means over them; a run that was interrupted stands for its
trial only while no other seed is finished, so that no mean changes its members on the way.
"""

from __future__ import annotations

import functools
import json
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from reslab.report.records import Point, RunRecord
from reslab.spec import NetworkSpec, Spec, name_of, natural_key
from reslab.spec.codec import differing_leaves, encode
from reslab.spec.families import IMAGENET_BLOCKS
from reslab.spec.recipe import RECIPES, Recipe
from reslab.spec.trial import Trial, trial_to_dict

Family = Literal["plain", "residual", "other"]
# The data implies these, so they tell no two networks on one dataset apart.
IMPLIED = ("classes", "channels", "input_size")
DIGESTS, DIGITS = ("data.fingerprint", "start"), 12  # as many as in a run's id


@dataclass(frozen=True)
class Spread:
    """The mean of a few values and, from two on, their standard deviation."""

    mean: float
    std: float | None
    n: int


@dataclass(frozen=True)
class Step:
    """One point of a mean curve."""

    step: int
    train: Spread | None
    test: Spread | None


@dataclass(frozen=True)
class Group:
    """The seeds of one trial. `shade` numbers its colour; a plain network and its residual twin share one."""

    label: str
    data: str
    family: Family
    depth: int
    runs: tuple[RunRecord, ...]
    shade: int = 0

    @property
    def finished(self) -> tuple[RunRecord, ...]:
        """The runs that came to a result, one a seed: a copied folder is no second measurement."""
        return tuple({run.trial.seed: run for run in reversed(self.runs) if run.result}.values())[::-1]

    @property
    def shown(self) -> tuple[RunRecord, ...]:
        """The runs that curves are means of."""
        return self.finished or self.runs

    @cached_property
    def curve(self) -> tuple[Step, ...]:
        """The mean over the seeds shown, at every step that they log."""
        at: dict[int, list[Point]] = {}
        for run in self.shown:
            for point in run.points:
                at.setdefault(point.step, []).append(point)
        return tuple(
            Step(
                step,
                spread([point.train_error_percent for point in points]),
                spread([point.test_error_percent for point in points]),
            )
            for step, points in sorted(at.items())
        )

    @property
    def ceiling(self) -> float:
        """The largest error in the second half of the curve: what an axis must reach to show how it ends."""
        later = self.curve[len(self.curve) // 2 :]
        return max((spread.mean for step in later for spread in (step.train, step.test) if spread), default=0.0)


def spread(values: Sequence[float | None]) -> Spread | None:
    """Summarize what is there of `values`; None where nothing is."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return Spread(statistics.fmean(known), statistics.stdev(known) if len(known) > 1 else None, len(known))


def group_runs(records: Sequence[RunRecord]) -> list[Group]:
    """Put seeds together and name each group by what tells it from the others on its data."""
    members: dict[str, list[RunRecord]] = {}
    for record in records:
        members.setdefault(_key(record.trial), []).append(record)
    sets = [tuple(sorted(runs, key=lambda run: (run.trial.seed, run.id))) for runs in members.values()]
    labels = _label([(runs[0].trial, len(runs)) for runs in sets])
    order = sorted(range(len(sets)), key=lambda i: (data_label(sets[i][0].trial), natural_key(labels[i])))
    groups = [
        Group(
            label=labels[index],
            data=data_label(sets[index][0].trial),
            family=family_of(sets[index][0].trial.network),
            depth=getattr(sets[index][0].trial.network, "depth", 0),
            runs=sets[index],
        )
        for index in order
    ]
    return [shaded for members in by_data(groups).values() for shaded in _shade(members)]


def by_data(groups: Sequence[Group]) -> dict[str, list[Group]]:
    """Split groups by the data they were trained on."""
    found: dict[str, list[Group]] = {}
    for group in groups:
        found.setdefault(group.data, []).append(group)
    return found


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


def family_of(spec: Spec) -> Family:
    """Say on which side of the paper's comparison a network stands."""
    if not isinstance(spec, NetworkSpec) or spec.shortcut == "gated":
        return "other"
    return "plain" if spec.shortcut == "none" else "residual"


def flatten(data: Any, prefix: str = "") -> dict[str, Any]:
    """Return nested tables as dotted fields, lists as they are."""
    if isinstance(data, Mapping):
        return {key: leaf for name, item in data.items() for key, leaf in flatten(item, f"{prefix}{name}.").items()}
    return {prefix[:-1]: data}


def _shade(groups: Sequence[Group]) -> list[Group]:
    """Give each network of one dataset a colour, those with the most seeds first: colours are few."""
    taken: dict[str, int] = {}
    for group in sorted(groups, key=lambda group: -len(group.runs)):
        taken.setdefault(_twin(group), len(taken))
    return [replace(group, shade=taken[_twin(group)]) for group in groups]


def _twin(group: Group) -> str:
    """What a plain network has in common with its residual twin."""
    return re.sub(r"^(plain|resnet)-", "", group.label)


def _key(trial: Trial) -> str:
    return json.dumps({**trial_to_dict(trial), "seed": None}, sort_keys=True)


def _label(trials: Sequence[tuple[Trial, int]]) -> list[str]:
    """Name each trial's network, and the fields in which it differs from others of that network on that data.

    Where one of them has the most runs it is the usual one, and goes by the network's name alone. Where recipes differ
    a trial names its own, and of its fields those that were changed.
    """
    names = [(data_label(trial), network_label(trial.network)) for trial, _ in trials]
    fields = [_telling(trial) for trial, _ in trials]
    recipes = [_nearest(trial.recipe) for trial, _ in trials]
    like: dict[tuple[str, str], list[int]] = {}
    for index, name in enumerate(names):
        like.setdefault(name, []).append(index)
    labels = []
    for index, name in enumerate(names):
        most = max(trials[twin][1] for twin in like[name])
        usual = [twin for twin in like[name] if trials[twin][1] == most]
        others = usual if len(usual) == 1 else like[name]
        recipe, told = recipes[index], []
        if any(recipes[twin] != recipe for twin in others):
            others, told = like[name], [f"recipe={recipe}"]
        differing = [
            f"{field.removeprefix('recipe.')}={_written(value, field)}"
            for field, value in fields[index].items()
            if any(fields[twin].get(field) != value for twin in others)
            and not (told and field in _fields_of(recipe) and _fields_of(recipe)[field] == value)
        ]
        labels.append(" ".join([name[1], *told, *differing]))
    return labels


@functools.cache
def _nearest(recipe: Recipe) -> str:
    """Return the name of the recipe from which this one differs in the fewest fields."""
    return min(RECIPES, key=lambda name: len(differing_leaves(encode(recipe), encode(RECIPES[name]))))


@functools.cache
def _fields_of(recipe: str) -> dict[str, Any]:
    return flatten(encode(RECIPES[recipe]), "recipe.")


def _telling(trial: Trial) -> dict[str, Any]:
    """Return what a trial's short names leave out."""
    implied = {field: getattr(trial.network, field, None) for field in IMPLIED}
    return flatten({**trial_to_dict(trial), "network": implied, "seed": None})


def _written(value: Any, field: str) -> str:
    if field in DIGESTS and isinstance(value, str):
        return value[:DIGITS]
    return value if isinstance(value, str) else json.dumps(value)
