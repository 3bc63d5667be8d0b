"""What the charts show, as plain data for the pages; `assets/charts.js` draws it in the reader's colours.

Curves are drawn like the paper's Fig. 6, responses like its Fig. 7.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reslab.report.groups import Family, Group, Spread, shown_at_first, spread
from reslab.report.palette import LIGHT
from reslab.report.records import Layer, RunRecord

TEN_THOUSAND = 10_000
PANELS: dict[Family, str] = {"plain": "Plain networks", "residual": "Residual networks", "other": "Other networks"}
MOST_CLASSES = 200


@dataclass(frozen=True)
class Plot:
    """One chart or a few with one legend. Plots with the same `share` keep one scale."""

    key: str
    kind: str
    title: str
    content: dict[str, Any]
    share: str = ""


def plot_curves(groups: Sequence[Group], *, key: str) -> list[Plot]:
    """Learning curves of the networks on one dataset: a plot each for plain, residual and other ones."""
    drawn = _variants_last(group for group in groups if group.curve)
    unit = choose_unit(drawn)
    plots = []
    for family, title in PANELS.items():
        members = [group for group in drawn if group.family == family]
        if members:
            content = {"unit": unit, "series": _hiding(members, [_curve(group) for group in members])}
            plots.append(Plot(f"{key}-{family}", "curves", title, content, share=key))
    return plots


def plot_run_curve(group: Group, record: RunRecord, *, key: str) -> list[Plot]:
    """Error and loss of one run, with the steps at which the learning rate changed."""
    if not record.points:
        return []
    alone = replace(group, runs=(record,))
    rates = [(point.step, point.learning_rate) for point in record.points]
    drops = [step for (step, rate), (_, after) in itertools.pairwise(rates) if after != rate]
    unit = choose_unit([alone])
    errors = [error for point in record.points for error in (point.train_error_percent, point.test_error_percent)]
    whole = _curve(alone) | {"ceiling": max((error for error in errors if error is not None), default=0.0)}
    losses = {
        "name": group.label,
        "shade": group.shade,
        "x": [point.step for point in record.points],
        "train": _rounded(point.train_loss for point in record.points),
        "test": _rounded(point.test_loss for point in record.points),
    }
    return [
        Plot(f"{key}-error", "curves", "Error", {"unit": unit, "series": [whole], "drops": drops}),
        Plot(f"{key}-loss", "losses", "Loss", {"unit": unit, "series": [losses], "drops": drops}),
    ]


def plot_depth(groups: Sequence[Group], *, key: str) -> list[Plot]:
    """The errors at the end against depth, a line for each kind of network that has at least two depths.

    A line joins only what was trained alike: a shortened run would look like what depth does. Towards a network that
    curves do not display it leaves the scale. A line of variants waits to be clicked, unless there is no other.
    """
    lines: dict[tuple[str, str], list[Group]] = {}
    for group in groups:
        if group.finished and group.family != "other":
            kind = group.label.replace(f"-{group.depth}", "", 1)
            lines.setdefault((kind, group.material), []).append(group)
    deep = [(kind, line) for (kind, _), line in lines.items() if len({group.depth for group in line}) > 1]
    deep.sort(key=lambda pair: pair[1][0].variant)
    named = Counter(kind for kind, _ in deep)
    series = [
        {
            "name": kind if named[kind] == 1 else f"{kind} recipe={line[0].recipe}",
            "shade": shade,
            "hidden": shade >= len(LIGHT) or (line[0].variant and not deep[0][1][0].variant),
            **_ends(sorted(line, key=lambda group: group.depth)),
        }
        for shade, (kind, line) in zip(_from_the_last(), deep, strict=False)
    ]
    return [Plot(key, "depth", "Error against depth", {"series": series}, share=key)] if series else []


def plot_responses(groups: Sequence[Group], *, key: str) -> list[Plot]:
    """Layer responses: means over seeds."""
    shown = _variants_last(group for group in groups if group.responses)
    series = _hiding(shown, [_response(group) for group in shown])
    return [Plot(key, "responses", "Layer responses", {"series": series})] if series else []


def plot_classes(groups: Sequence[Group], *, key: str) -> list[Plot]:
    """The error of each class, a row for each network: means over seeds."""
    with_classes = [(group, runs) for group in groups if (runs := _counted(group))]
    if not with_classes or len(with_classes[0][1][0].classes) > MOST_CLASSES:
        return []
    names = with_classes[0][1][0].classes
    rows = [
        (group.label, [_mean(run.class_errors[i] for run in runs) for i in range(len(names))])
        for group, runs in with_classes
        if runs[0].classes == names
    ]
    content = {"classes": list(names), "rows": [row[0] for row in rows], "errors": [row[1] for row in rows]}
    return [Plot(key, "classes", "Error of each class", content)]


def plot_confusion(record: RunRecord, *, key: str) -> list[Plot]:
    """One run's confusion matrix; too many classes for a picture give none."""
    result = record.result
    if result is None or not 0 < len(result.confusion) <= MOST_CLASSES:
        return []
    return [Plot(key, "confusion", "Confusion", {"classes": list(result.classes), "counts": result.confusion})]


def choose_unit(groups: Sequence[Group]) -> int:
    """Count iterations in 1e4, as the paper does, unless the runs are too short for it."""
    longest = max((group.curve[-1].step for group in groups), default=0)
    return TEN_THOUSAND if longest >= TEN_THOUSAND else 1


def _variants_last(groups: Iterable[Group]) -> list[Group]:
    return sorted(groups, key=lambda group: group.variant)


def _hiding(groups: Sequence[Group], series: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mark what waits to be clicked: variants, and whatever would give two networks one colour, but for twins."""
    seen = {group.label for group in shown_at_first(groups)}
    return [entry | {"hidden": group.label not in seen} for group, entry in zip(groups, series, strict=True)]


def _from_the_last() -> Iterator[int]:
    """Number colours from the last one, which networks take last: a line along depth is of none of them."""
    return itertools.chain(reversed(range(len(LIGHT))), itertools.count(len(LIGHT)))


def _curve(group: Group) -> dict[str, Any]:
    return {
        "name": group.label,
        "shade": group.shade,
        "seeds": len(group.shown),
        "interrupted": not group.finished,
        "ceiling": group.ceiling,
        "x": [step.step for step in group.curve],
        **_errors([step.train for step in group.curve], [step.test for step in group.curve]),
    }


def _ends(line: Sequence[Group]) -> dict[str, Any]:
    inside = [group for group in line if group.displayed] or line
    errors = [error for group in inside for run in group.finished if (error := run.test_error_percent) is not None]
    return {
        "x": [group.depth for group in line],
        "beyond": [group.label for group in line if group not in inside],
        "ceiling": max(errors, default=0.0),
        **_errors(
            [spread([run.train_error_percent for run in group.finished]) for group in line],
            [spread([run.test_error_percent for run in group.finished]) for group in line],
        ),
    }


def _errors(train: Sequence[Spread | None], test: Sequence[Spread | None]) -> dict[str, Any]:
    return {
        "train": _rounded(point.mean if point else None for point in train),
        "trainStd": _rounded(point.std if point else None for point in train),
        "test": _rounded(point.mean if point else None for point in test),
        "testStd": _rounded(point.std if point else None for point in test),
    }


def _response(group: Group) -> dict[str, Any]:
    return {
        "name": group.label,
        "shade": group.shade,
        "seeds": len(group.responding),
        "plain": group.family == "plain",
        "original": _layers(group.responses),
        "sorted": _layers(group.ranked_responses),
    }


def _layers(layers: Sequence[Layer]) -> list[list[Any]]:
    return [[layer.name, *_rounded((layer.std, layer.low, layer.high))] for layer in layers]


def _counted(group: Group) -> list[Any]:
    return [run.result for run in group.finished if run.result and run.result.confusion]


def _mean(values: Iterable[float | None]) -> float | None:
    found = spread([value for value in values if value is not None])
    return None if found is None else round(found.mean, 2)


def _rounded(values: Iterable[float | None]) -> list[float | None]:
    return [None if value is None else round(value, 4) for value in values]
