"""Runs that differ in nothing but the seed belong together: one name, one colour, one mean curve.

Where several seeds are finished, curves and errors are means over them; a run that was interrupted stands for its
trial only while no other seed is finished, so that no mean changes its members on the way.
"""

import math
import re
import statistics
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from reslab.analysis.catalogue import InstrumentPanel, Mark, View
from reslab.json_text import to_json
from reslab.report.labels import data_label, find_departing, label_trials, name_origins, nearest_recipe, network_label
from reslab.report.records import Point, RunRecord
from reslab.report.verdicts import IMMATERIAL, PRECISIONS
from reslab.scores import PARTS, Score
from reslab.spec import NetworkSpec, Spec, natural_key
from reslab.spec.codec import encode, flatten
from reslab.spec.trial import Trial, trial_to_dict

Family = Literal["plain", "residual", "other"]
# Colours that stay apart for the colour-blind, on light paper and on dark, the most different first. Each has a
# contrast of at least 3 with its background.
LIGHT = ("#0072b2", "#d55e00", "#00916a", "#551a6b", "#e0559f", "#7a5c00", "#20242a")
DARK = ("#4d9fec", "#f58a4b", "#2fa884", "#d9c7ff", "#ff9ecb", "#f2dc7c", "#ffffff")
HIGHEST_DISPLAYED = 60.0  # percent: Fig. 6 leaves out plain-110, whose error is above that


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
    """The seeds of one trial. `shade` numbers its colour; a plain network and its residual twin share one.

    It is `reduced` where its recipe is not whole and others on its data do not depart from theirs in the same way, and
    `repeated` where others differ from it in nothing material (the precision, say) and stand for it.
    """

    label: str
    data: str
    family: Family
    depth: int
    runs: tuple[RunRecord, ...]
    reduced: bool = False
    repeated: bool = False
    shade: int = 0

    @property
    def headline(self) -> Score:
        """The score that it is judged by."""
        return self.runs[0].headline

    @property
    def recipe(self) -> str:
        """The name of the recipe it was trained by, or of the nearest to that."""
        return nearest_recipe(self.runs[0].trial.recipe)

    @property
    def variant(self) -> bool:
        """Whether it is a network that has a name, but with something changed in it or in how it was trained."""
        return self.reduced or self.repeated or " " in network_label(self.runs[0].trial.network)

    @property
    def material(self) -> str:
        """What decides between recipes, written out. A warm-up does not: the paper needs it for its deepest network."""
        fields = flatten(encode(self.runs[0].trial.recipe), "recipe.")
        undecisive = {field for field in fields if field in IMMATERIAL or field.startswith("recipe.warmup")}
        return to_json({field: fields[field] for field in fields.keys() - undecisive}, sort_keys=True)

    @property
    def finished(self) -> tuple[RunRecord, ...]:
        """The runs that came to a result, one per seed: a copied folder is no second measurement."""
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
        keys = [self.headline.key(part) for part in PARTS]
        return tuple(
            Step(step, *[spread([point.values.get(key) for point in points]) for key in keys])
            for step, points in sorted(at.items())
        )

    def found(self, instrument: str) -> list[InstrumentPanel]:
        """Return what an instrument found in the seeds shown, where it measured the same as in the first of them."""
        found = [run.findings[instrument] for run in self.shown if instrument in run.findings]
        return [each for each in found if each.marks and _measured(each) == _measured(found[0])]

    def line(self, instrument: str, view: View) -> list[Mark]:
        """Return the means over these seeds, within one standard deviation; of one run, within its confidence.

        By size, each seed is in its own order: a verdict's rank or median is that of this line. Where an axis spans
        magnitudes, so do means and deviations: they are those of the logarithms. What is unknown of one seed has none.
        """
        lines = [found.marks_in(view) for found in self.found(instrument)]
        if not lines:
            return []
        known = set.intersection(*({mark.name for mark in marks} for marks in lines))
        lines = [[mark for mark in marks if mark.name in known] for marks in lines]
        if view.by_size:
            lines = [sorted(marks, key=lambda mark: -mark.value) for marks in lines]
        return lines[0] if len(lines) == 1 else [_average(marks, log=view.log) for marks in zip(*lines, strict=True)]

    @property
    def ends(self) -> tuple[Spread | None, Spread | None]:
        """What the finished seeds came to, in training and in the test."""
        return spread([run.train_score for run in self.finished]), spread([run.test_score for run in self.finished])

    @property
    def displayed(self) -> bool:
        """Whether a figure shows it at first: one that ended with so large an error would flatten the others."""
        ended = self.ends[1]
        flattens = self.headline.better == "lower" and self.headline.unit == "%"
        return ended is None or not flattens or ended.mean <= HIGHEST_DISPLAYED

    @property
    def ceiling(self) -> float:
        """The largest value in the second half of the curve: what an axis must reach to show how it ends."""
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
    trials = [runs[0].trial for runs in sets]
    departing = find_departing(trials)
    origins = name_origins((record.trial, record.directory) for record in records)
    counted = [(trial, len(runs)) for trial, runs in zip(trials, sets, strict=True)]
    labels = label_trials(counted, departing, origins)
    groups = [
        Group(
            label=label,
            data=data_label(trial),
            family=family_of(trial.network),
            depth=getattr(trial.network, "depth", 0),
            runs=runs,
            reduced=bool(departures),
        )
        for label, trial, runs, departures in zip(labels, trials, sets, departing, strict=True)
    ]
    groups.sort(key=lambda group: (group.data, natural_key(group.label)))
    return [shaded for members in by_data(_mark_repeated(groups)).values() for shaded in _shade(members)]


def by_data(groups: Sequence[Group]) -> dict[str, list[Group]]:
    """Split groups by the data they were trained on, and by headline score where networks on it have several."""
    headlines: dict[str, set[str]] = {}
    for group in groups:
        headlines.setdefault(group.data, set()).add(group.headline.heading)
    found: dict[str, list[Group]] = {}
    for group in groups:
        name = group.data if len(headlines[group.data]) == 1 else f"{group.data}, {group.headline.words}"
        found.setdefault(name, []).append(group)
    return found


def shown_at_first(groups: Sequence[Group]) -> list[Group]:
    """Return those of one chart that have a colour of their own and are displayed, if any are; no mere repetitions.

    Where colours are too few for all, finished networks come without their variants, if they are several.
    """
    single = [group for group in groups if not group.repeated] or groups
    coloured = [group for group in single if group.shade < len(LIGHT)]
    whole = [group for group in coloured if group.finished and not group.variant]
    if len(coloured) < len(single) and len(whole) > 1:
        coloured = whole
    coloured = coloured or sorted(single, key=lambda group: group.shade)[:1]
    return [group for group in coloured if group.displayed] or coloured


def family_of(spec: Spec) -> Family:
    """Say on which side of the paper's comparison a network stands."""
    if not isinstance(spec, NetworkSpec) or spec.shortcut == "gated":
        return "other"
    return "plain" if spec.shortcut == "none" else "residual"


def _measured(found: InstrumentPanel) -> tuple[str, int, list[str]]:
    """On what it was measured, and of which layers."""
    return found.data, found.images, [mark.name for mark in found.marks]


def _average(marks: Sequence[Mark], *, log: bool) -> Mark:
    """Return the mean of what stands at one place in several seeds, under a name where all have the same there."""
    values = [mark.value for mark in marks]
    name = marks[0].name if len({mark.name for mark in marks}) == 1 else ""
    if log and min(values) > 0:
        mean, std = (of(map(math.log, values)) for of in (statistics.fmean, statistics.stdev))
        return Mark(name, math.exp(mean), math.exp(mean - std), math.exp(mean + std))
    mean, std = statistics.fmean(values), statistics.stdev(values)
    return Mark(name, mean, mean - std, mean + std)


def _mark_repeated(groups: Sequence[Group]) -> list[Group]:
    """Of those alike in all that is material let one stand: the one with the most seeds, then the finest numbers."""

    def standing(group: Group) -> tuple[int, int]:
        return -len(group.finished), PRECISIONS.index(group.runs[0].trial.recipe.precision)

    alike: dict[str, list[Group]] = {}
    for group in groups:
        alike.setdefault(_key(group.runs[0].trial, without=IMMATERIAL), []).append(group)
    chosen = {id(min(members, key=standing)) for members in alike.values()}
    return [replace(group, repeated=id(group) not in chosen) for group in groups]


def _shade(groups: Sequence[Group]) -> list[Group]:
    """Give each network of one dataset a colour, finished ones but variants first, by their seeds: colours are few."""
    taken: dict[str, int] = {}
    for group in sorted(groups, key=lambda group: (not group.finished, group.variant, -len(group.runs))):
        taken.setdefault(_twin(group), len(taken))
    return [replace(group, shade=taken[_twin(group)]) for group in groups]


def _twin(group: Group) -> str:
    """What a plain network has in common with its residual twin."""
    return re.sub(r"^(plain|resnet)-", "", group.label)


def _key(trial: Trial, without: Collection[str] = ("seed",)) -> str:
    fields = flatten(trial_to_dict(trial)).items()
    return to_json({field: value for field, value in fields if field not in without}, sort_keys=True)
