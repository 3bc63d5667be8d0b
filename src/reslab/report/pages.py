"""Records and verdicts become HTML. Everything read from disk is escaped, in text as in embedded data."""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reslab.analysis.catalogue import list_lines, list_panels
from reslab.files import slug
from reslab.numbers import percent
from reslab.report import charts
from reslab.report.groups import DARK, HIGHEST_DISPLAYED, LIGHT, Group, Spread, by_data
from reslab.report.labels import network_label, shared_departures
from reslab.report.notation import FILTERS
from reslab.report.records import Damage, RunRecord
from reslab.spec import name_of
from reslab.spec.codec import encode, flatten
from reslab.spec.recipe import RECIPES
from reslab.spec.trial import trial_to_dict
from reslab.tasks.display import Plot, Section
from reslab.tasks.gallery import Gallery

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"
ROWS_AT_FIRST = 12
CLASSES_AT_FIRST = 6  # of a gallery
ENOUGH_RUNS = 3  # for a mean to lead the page while there is one: a single run may be a lucky one
WORDS = ("reproduced", "deviates", "measured", "reduced setting", "not run")
COSTS = ("params", "multiply_adds", "activation_bytes")
SPEEDS = ("images_per_second", "peak_memory_bytes", "seconds")


def render_index(
    groups: Sequence[Group],
    damages: Sequence[Damage],
    *,
    verdicts: Sequence[Any],
    figures: Mapping[str, Mapping[str, str]],
    answered: bool = False,
) -> str:
    """Render the first page. `figures` are the file names of the static ones by data, then kind.

    Of what instruments found it has what repeats a figure of the paper; the rest where questions are `answered`.
    """
    sections, plots = [], []
    findings = _compare_findings(groups, [name for name, panel in list_lines().items() if panel.figure], figures)
    panels: dict[str, list[tuple[str, Plot]]] = {}
    for number, (data, members) in enumerate(by_data(groups).items()):
        drawn = figures.get(data, {})
        curves = charts.plot_curves(members, key=f"curves-{number}")
        depth = charts.plot_depth(members, key=f"depth-{number}")
        hidden = {series["name"] for plot in curves for series in plot.content["series"] if series["hidden"]}
        lines = [series for plot in depth for series in plot.content["series"] if not series["hidden"]]
        section = {
            "data": data,
            "curves": curves,
            "depth": depth,
            "beyond": [name for series in lines for name in series["beyond"]],
            "seeds": max(len(group.shown) for group in members),
            "departures": shared_departures([run.trial for group in members for run in group.runs]),
            "undisplayed": [group.label for group in members if not group.displayed and group.label in hidden],
            "variants": any(group.variant and group.label in hidden for group in members),
            "left_out": sum(len(group.runs) - len(group.shown) for group in members),
            "figure": drawn.get("curves"),
        }
        sections.append(section)
        plots += [*curves, *depth]
        for plot in charts.plot_panels(members, key=f"classes-{number}"):
            panels.setdefault(plot.title, []).append((data, plot))
            plots.append(plot)
    costs = [(group, group.finished[0].result) for group in groups if group.finished]  # the same in all of a group
    speeds = _speeds(groups)
    return _render(
        "index.html",
        up="",
        networks=len({network_label(run.trial.network) for group in groups for run in group.runs}),
        runs=[(group, run) for group in groups for run in group.runs],
        scores=" or ".join(dict.fromkeys(group.headline.words for group in groups)),
        units=" or ".join(dict.fromkeys(group.headline.unit for group in groups)),
        repeated=[(group, *group.ends) for group in groups if len(group.finished) > 1],
        best=[best for members in by_data(groups).values() if (best := _best(members))],
        costs=costs,
        largest={name: max((getattr(cost, name) or 0 for _, cost in costs), default=0) for name in COSTS},
        speeds=speeds,
        fastest=_largest_alone(speeds),
        sections=sections,
        findings=findings,
        panels=panels,
        answered=answered,
        tables=tabulate_verdicts(verdicts),
        damages=damages,
        addresses=page_addresses(groups),
        rows_at_first=ROWS_AT_FIRST,
        highest_displayed=HIGHEST_DISPLAYED,
        plots=_embed([*plots, *[plot for shown in findings.values() for _, plot, *_ in shown]]),
    )


def render_measurements(
    groups: Sequence[Group],
    sections: Mapping[str, Sequence[tuple[Group, RunRecord, Section]]],
    *,
    addresses: Mapping[str, str],
    figures: Mapping[str, Mapping[str, str]],
) -> str:
    """Render the page that asks what each instrument answers; `sections` are those that are no lines, by instrument."""
    findings = _compare_findings(groups, list_lines(), figures)
    drawn = {
        name: [(*one, _draw_first(one[-1], number)) for number, one in enumerate(those)]
        for name, those in sections.items()
    }
    plots = [plot for shown in findings.values() for _, plot, *_ in shown]
    plots += [plot for those in drawn.values() for *_, plot in those]
    panels = list_panels()
    return _render(
        "measurements.html",
        up="",
        panels={
            name: panels[name] for name in sorted(panels, key=lambda name: not (name in findings or name in drawn))
        },
        findings=findings,
        drawn=drawn,
        addresses=addresses,
        plots=_embed(plots),
    )


def _compare_findings(
    groups: Sequence[Group], instruments: Iterable[str], figures: Mapping[str, Mapping[str, str]]
) -> dict[str, list[tuple[Any, ...]]]:
    """Return by instrument, for each dataset: its name, the plot, what is in it, and the static figure's file."""
    compared: dict[str, list[tuple[Any, ...]]] = {}
    for name in instruments:
        for number, (data, members) in enumerate(by_data(groups).items()):
            for plot in charts.plot_findings(members, name, key=f"{name}-{number}"):
                measured = [found for group in members if (found := group.found(name))]
                compared.setdefault(name, []).append((data, plot, measured, figures.get(data, {}).get(name)))
    return compared


def _draw_first(section: Section, number: int) -> Plot:
    """Return the first chart of a section, with a key that no other run's has."""
    return replace(section.plots[0], key=f"{section.plots[0].key}-{number}")


def render_run(
    group: Group,
    record: RunRecord,
    *,
    addresses: Mapping[str, str],
    gallery: Gallery | None = None,
    sections: Sequence[Section] = (),
) -> str:
    """Render the page of one run; `sections` are what instruments found, beside their lines."""
    curves = charts.plot_run_curve(group, record, key="curve")
    panel = (*(record.result.panel.sections() if record.result else ()), *sections)
    findings = [
        (plot, found)
        for name, found in record.findings.items()
        for plot in charts.plot_findings([replace(group, runs=(record,))], name, key=name)
    ]
    trial = flatten(trial_to_dict(record.trial))
    recipe, network, task = (
        {key: trial.pop(key) for key in [*trial] if key.startswith(part)} for part in ("recipe.", "network.", "task.")
    )
    usual = flatten(encode(type(record.trial.task)()), "task.")
    trial |= {key: value for key, value in task.items() if key not in usual or usual[key] != value}
    preset = flatten(encode(RECIPES[group.recipe]), "recipe.")
    return _render(
        "run.html",
        up="../",
        group=group,
        run=record,
        name=name_of(record.trial.network),
        siblings=[run for run in group.runs if run is not record],
        recipe=recipe,
        preset=preset,
        changed={key: value for key, value in recipe.items() if preset.get(key) != value},
        network=network,
        task=task,
        trial=trial,
        addresses=addresses,
        facts=_list_scores(record),
        gallery=gallery,
        examples=gallery.worst_first if gallery else (),
        classes_at_first=CLASSES_AT_FIRST,
        curves=curves,
        panel=panel,
        findings=findings,
        plots=_embed([*curves, *[plot for part in panel for plot in part.plots], *[plot for plot, _ in findings]]),
    )


def tabulate_verdicts(verdicts: Sequence[Any]) -> list[tuple[str, list[Any], dict[str, int]]]:
    """Put verdicts under the paper's table or figure that they judge, and count the words of each.

    Those where something was run come first.
    """
    tables: dict[str, list[Any]] = {}
    for verdict in verdicts:
        tables.setdefault(verdict.claim.table, []).append(verdict)
    found = []
    for name, members in tables.items():
        words = [verdict.word for verdict in members]
        found.append((name, members, {word: words.count(word) for word in WORDS if word in words}))
    return sorted(found, key=lambda table: set(table[2]) == {"not run"})


def page_addresses(groups: Sequence[Group]) -> dict[str, str]:
    """Return where each run's page lies, by the run's id: a safe file name of its own under runs/."""
    addresses: dict[str, str] = {}
    for run in (run for group in groups for run in group.runs):
        name = slug(run.id, keep="A-Za-z0-9._-", longest=100).strip(".-") or "run"
        taken, number = set(addresses.values()), 1
        address = f"runs/{name}.html"
        while address in taken:
            number += 1
            address = f"runs/{name}-{number}.html"
        addresses[run.id] = address
    return addresses


def _render(template: str, **content: Any) -> str:
    return _environment().get_template(template).render(**content)


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= FILTERS
    environment.globals |= {"light": LIGHT, "dark": DARK}
    # `tojson` writes <, > and & as escapes, so no text can end its script element; JSON has no NaN.
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    return environment


def _embed(plots: Sequence[Plot]) -> dict[str, Any]:
    return {plot.key: {"kind": plot.kind, "share": plot.share or plot.key, **plot.content} for plot in plots}


def _best(members: Sequence[Group]) -> list[tuple[Group, Spread]]:
    """Return the network with the best test score on one dataset, in the mean over its seeds.

    Only means of enough runs compete while there are any, and the page says so; a better one of fewer follows.
    """
    means = [(group, found) for group in members if (found := group.ends[1]) is not None]
    means.sort(key=lambda pair: pair[1].mean if pair[0].headline.better == "lower" else -pair[1].mean)
    first = next((pair for pair in means if pair[1].n >= ENOUGH_RUNS), None)
    return [first, means[0]] if first and first is not means[0] else means[:1]


def _speeds(groups: Sequence[Group]) -> list[dict[str, Any]]:
    """Return how each network ran, a row for each device and number of trials at once; those alike stand together."""
    rows: dict[tuple[str, float, int], list[RunRecord]] = {}
    for place, group in enumerate(groups):
        for run in group.runs:
            rows.setdefault((run.device, run.together or math.inf, place), []).append(run)
    return [
        {
            "group": groups[place],
            "device": device,
            "together": runs[0].together,
            "runs": len(runs),
            "images_per_second": _median([run.timings.images_per_second for run in runs]),
            "peak_memory_bytes": _median([run.timings.peak_memory_bytes for run in runs]),
            "seconds": _median([run.timings.seconds for run in runs if run.result]),
        }
        for (device, _, place), runs in sorted(rows.items())
    ]


def _largest_alone(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return what bars are parts of: nothing unless all had their device for themselves, as shares do not compare."""
    alone = all(row["together"] == 1 for row in rows)
    return {name: max((row[name] or 0 for row in rows), default=0) if alone else 0 for name in SPEEDS}


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _list_scores(record: RunRecord) -> list[tuple[str, str, str]]:
    """Return what a run came to, as words, number and unit: the headline score always, others where they are."""
    headline, values = record.headline, record.result.values if record.result else {}
    facts = [(f"test {headline.words}", percent(record.test_score), headline.unit)]
    if "train" in headline.logged:
        facts.append((f"training {headline.words}", percent(record.train_score), headline.unit))
    for score in record.scores[1:]:
        *_, name = score.columns  # the test's, where there is one of training too
        if values.get(name) is not None:
            facts.append((score.words, percent(values[name]), score.unit))
    return facts
