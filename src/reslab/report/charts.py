"""What the charts show, as plain data for the pages; `assets/charts.js` draws it in the reader's colours.

Curves are drawn like the paper's Fig. 6, findings of instruments like its Fig. 7.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from reslab.analysis.catalogue import View, list_panels
from reslab.files import slug
from reslab.report.groups import LIGHT, Family, Group, Spread, shown_at_first
from reslab.report.records import LOSS, RunRecord
from reslab.scores import PARTS
from reslab.tasks.display import Plot

TEN_THOUSAND = 10_000
FAMILIES: dict[Family, str] = {"plain": "Plain networks", "residual": "Residual networks", "other": "Other networks"}


def plot_curves(groups: Sequence[Group], *, key: str) -> list[Plot]:
    """Learning curves of the networks on one dataset: a plot each for plain, residual and other ones."""
    drawn = _variants_last(group for group in groups if group.curve)
    unit = choose_unit(drawn)
    plots = []
    for family, title in FAMILIES.items():
        if members := [group for group in drawn if group.family == family]:
            series = _hiding(members, [_curve(group) for group in members])
            content = {"unit": unit, "axis": _axis(members), "series": series}
            plots.append(Plot(f"{key}-{family}", "curves", title, content, share=key))
    return plots


def plot_run_curve(group: Group, record: RunRecord, *, key: str) -> list[Plot]:
    """Headline score and losses of one run, with the steps at which the learning rate changed."""
    if not record.points:
        return []
    alone = replace(group, runs=(record,))
    rates = [(point.step, point.values["learning_rate"]) for point in record.points]
    # A rate that changes all the time has no step at which it does.
    steps = record.trial.recipe.schedule.kind == "steps"
    drops = [step for (step, rate), (_, after) in itertools.pairwise(rates) if steps and after != rate]
    unit = choose_unit([alone])
    headline = record.headline
    values = [point.values.get(headline.key(part)) for point in record.points for part in PARTS]
    whole = _curve(alone) | {"ceiling": max((value for value in values if value is not None), default=0.0)}
    content = {"unit": unit, "axis": _axis([alone]), "series": [whole], "drops": drops}
    return [
        Plot(f"{key}-{slug(headline.words)}", "curves", headline.title, content),
        Plot(f"{key}-loss", "losses", "Loss", {"unit": unit, "series": _losses(group, record), "drops": drops}),
    ]


def _losses(group: Group, record: RunRecord) -> list[dict[str, Any]]:
    """Return what was minimized, then the parts it is the sum of, where the task has several."""
    logged = dict.fromkeys(name for point in record.points for name in point.losses)
    totals = [f"{part}{LOSS}" for part in PARTS]
    parts = [name for name in logged if name.startswith("train_") and name not in totals]
    named = {"sum" if parts else group.label: totals}
    named |= {name.removeprefix("train_").removesuffix(LOSS).replace("_", " "): [name, ""] for name in parts}
    return [
        {
            "name": words,
            "shade": group.shade + number,
            "x": [point.step for point in record.points],
            **{
                part: _rounded(point.values.get(name) for point in record.points)
                for part, name in zip(PARTS, names, strict=True)
            },
        }
        for number, (words, names) in enumerate(named.items())
    ]


def plot_depth(groups: Sequence[Group], *, key: str) -> list[Plot]:
    """The headline score at the end against depth, a line for each kind of network that has at least two depths.

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
    named, shades = Counter(kind for kind, _ in deep), len(LIGHT)
    series = [
        {
            "name": kind if named[kind] == 1 else f"{kind} recipe={line[0].recipe}",
            "shade": shade,
            "hidden": shade >= shades or (line[0].variant and not deep[0][1][0].variant),
            **_ends(sorted(line, key=lambda group: group.depth)),
        }
        # Colours from the last one, which networks take last: a line along depth is of none of them.
        for shade, (kind, line) in zip((*reversed(range(shades)), *range(shades, len(deep))), deep, strict=False)
    ]
    if not series:
        return []
    content = {"axis": _axis(groups), "series": series}
    return [Plot(key, "depth", f"{groups[0].headline.title} against depth", content, share=key)]


def plot_findings(groups: Sequence[Group], instrument: str, *, key: str) -> list[Plot]:
    """What an instrument found: means over seeds, in each of its views."""
    panel = list_panels()[instrument]
    shown = _variants_last(group for group in groups if group.found(instrument))
    series = [
        {
            "name": group.label,
            "shade": group.shade,
            "seeds": len(group.found(instrument)),
            "plain": group.family == "plain",
            **{
                view.key: [[name, *_rounded(values, log=view.log)] for name, *values in group.line(instrument, view)]
                for view in panel.views
            },
        }
        for group in shown
    ]
    views = {view.key: view.axis for view in panel.views}
    own = {view.key: {"words": view.quantity or panel.axis, "log": view.log} for view in panel.views if _differs(view)}
    content = {"axis": {"words": panel.axis}, "own": own, "views": views, "series": _hiding(shown, series)}
    return [Plot(key, "findings", panel.title, content)] if series else []


def plot_panels(groups: Sequence[Group], *, key: str) -> list[Plot]:
    """What the tasks of the networks on one dataset show of several beside each other."""
    rows = [(group.label, [run.result.panel for run in group.finished if run.result]) for group in groups]
    kinds = dict.fromkeys(type(panel) for _, panels in rows for panel in panels)
    alike = {kind: [row for row in rows if row[1] and type(row[1][0]) is kind] for kind in kinds}
    return [plot for kind, members in alike.items() for plot in kind.compare(members, key=key)]


def choose_unit(groups: Sequence[Group]) -> int:
    """Count iterations in 1e4, as the paper does, unless the runs are too short for it."""
    longest = max((group.curve[-1].step for group in groups), default=0)
    return TEN_THOUSAND if longest >= TEN_THOUSAND else 1


def _axis(groups: Sequence[Group]) -> dict[str, Any]:
    """What an axis is called, and where it ends at the latest."""
    headline = groups[0].headline
    return {"words": headline.axis, "most": 101 if headline.unit == "%" else None}


def _variants_last(groups: Iterable[Group]) -> list[Group]:
    return sorted(groups, key=lambda group: group.variant)


def _hiding(groups: Sequence[Group], series: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mark what waits to be clicked: variants, and whatever would give two networks one colour, but for twins."""
    seen = {group.label for group in shown_at_first(groups)}
    return [entry | {"hidden": group.label not in seen} for group, entry in zip(groups, series, strict=True)]


def _curve(group: Group) -> dict[str, Any]:
    return {
        "name": group.label,
        "shade": group.shade,
        "seeds": len(group.shown),
        "state": "" if group.finished else group.shown[0].state,
        "ceiling": group.ceiling,
        "x": [step.step for step in group.curve],
        **_spreads([step.train for step in group.curve], [step.test for step in group.curve]),
    }


def _ends(line: Sequence[Group]) -> dict[str, Any]:
    inside = [group for group in line if group.displayed] or line
    values = [point.mean + (point.std or 0.0) for group in inside for point in group.ends if point is not None]
    return {
        "x": [group.depth for group in line],
        "beyond": [group.label for group in line if group not in inside],
        "ceiling": max(values, default=0.0),
        **_spreads(*zip(*[group.ends for group in line], strict=True)),
    }


def _spreads(train: Sequence[Spread | None], test: Sequence[Spread | None]) -> dict[str, Any]:
    return {
        "train": _rounded(point and point.mean for point in train),
        "trainStd": _rounded(point and point.std for point in train),
        "test": _rounded(point and point.mean for point in test),
        "testStd": _rounded(point and point.std for point in test),
    }


def _differs(view: View) -> bool:
    """Whether a view has an axis of its own."""
    return bool(view.quantity or view.log)


def _rounded(values: Iterable[float | None], *, log: bool = False) -> list[float | None]:
    """Round to what can be seen: by magnitude, where an axis spans several."""
    return [None if value is None else float(f"{value:.4g}") if log else round(value, 4) for value in values]
