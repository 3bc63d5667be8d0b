"""The paper's figures as SVG for print: learning curves like Fig. 6, findings of instruments like Fig. 7.

They have what the pages show at first, where no two networks have one colour. The same runs give the same bytes:
letters are drawn as paths, ids come from a fixed salt, no date is written.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from reslab.analysis.catalogue import Mark, View, list_lines, list_panels
from reslab.files import slug
from reslab.report.charts import FAMILIES, choose_unit
from reslab.report.groups import LIGHT, Group, by_data, shown_at_first

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE: dict[str, Any] = {
    "svg.hashsalt": "reslab",
    "svg.fonttype": "path",
    "font.family": "STIXGeneral",
    "mathtext.fontset": "stix",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.edgecolor": "none",
    "legend.fontsize": 8,
    "legend.labelspacing": 0.3,
    "legend.handlelength": 1.5,
}
PANEL = (3.4, 2.9)
# A longer or wider legend would hide the lines; it goes below them, on room of its own that leaves theirs as it is.
MOST_INSIDE, WIDEST_INSIDE = 6, 24
# There a name takes at most so many lines of so many letters.
MOST_LINES, WIDEST = 3, 44


class Line(NamedTuple):
    """What was found in one network: its marks in each of several views, over 1, 2, ... or over `x`."""

    label: str
    shade: int
    plain: bool
    marks: Sequence[Sequence[Mark]]
    x: Sequence[float] = ()


def draw_figures(groups: Sequence[Group]) -> dict[str, dict[str, tuple[str, str]]]:
    """Return (file name, SVG) by data, then kind: curves, or the instrument by name."""
    from matplotlib import style

    drawn: dict[str, dict[str, tuple[str, str]]] = {}
    with style.context(["default", STYLE]):  # whatever the user's own matplotlibrc says
        for number, (data, members) in enumerate(by_data(groups).items()):
            name = f"{number + 1}-{slug(data.lower(), keep='a-z0-9')}"
            drawn[data] = {}
            curved = [group for group in members if group.curve]
            if curved:
                drawn[data]["curves"] = (f"curves-{name}.svg", write_svg(draw_curves(curved)))
            for instrument in list_lines():
                if any(group.found(instrument) for group in members):
                    drawn[data][instrument] = (
                        f"{instrument}-{name}.svg",
                        write_svg(draw_findings(members, instrument)),
                    )
    return drawn


def draw_curves(groups: Sequence[Group]) -> Figure:
    """Draw training dashed and test bold, plain networks beside residual ones on one scale."""
    panels = {
        title: members
        for family, title in FAMILIES.items()
        if (members := _choose([group for group in groups if group.family == family]))
    }
    unit = choose_unit(groups)
    figure, axes = _panels(len(panels))
    for axis, (title, members) in zip(axes, panels.items(), strict=True):
        for group in members:
            _draw_curve(axis, group, unit)
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("iter." if unit == 1 else "iter. (1e4)")
        axis.set_xlim(left=0)
    axes[0].set_ylabel(groups[0].headline.axis)
    drawn = [group for members in panels.values() for group in members]
    whole = [group for group in drawn if not group.reduced] or drawn  # what was cut short may leave the scale
    most = 100.0 if groups[0].headline.unit == "%" else math.inf
    axes[0].set_ylim(0, min(most, 1.12 * max(1.0, *(group.ceiling for group in whole))))
    _add_legends(figure, axes, inside="lower left")  # below the early errors, as in the paper's
    return figure


def _choose(groups: Sequence[Group]) -> list[Group]:
    """Return what is printed: networks that are finished, without their variants where there are any whole."""
    return shown_at_first([group for group in groups if group.finished and not group.variant] or groups)


def draw_findings(groups: Sequence[Group], instrument: str) -> Figure:
    """Draw what an instrument found, means over seeds, its views side by side."""
    panel = list_panels()[instrument]
    measured = _choose([group for group in groups if group.found(instrument)])
    views = [view for view in panel.views if any(group.line(instrument, view) for group in measured)]
    lines = [
        Line(group.label, group.shade, group.family == "plain", [group.line(instrument, view) for view in views])
        for group in measured
    ]
    return draw_lines(lines, views, usual=panel.printed_axis)


def draw_lines(lines: Sequence[Line], views: Sequence[View], *, usual: str) -> Figure:
    """Draw lines in each view, plain networks dashed; `usual` is what is shown unless a view says."""
    own = any(view.quantity or view.log for view in views)
    figure, axes = _panels(len(views), alike=not own)
    for line in lines:
        for axis, marks in zip(axes, line.marks, strict=True):
            x = line.x or range(1, len(marks) + 1)
            colour, dashes = LIGHT[line.shade % len(LIGHT)], "--" if line.plain else "-"
            lows, highs = [mark.low for mark in marks], [mark.high for mark in marks]
            axis.fill_between(x, lows, highs, color=colour, alpha=0.15, linewidth=0)
            values, words = [mark.value for mark in marks], _words(line.label)
            axis.plot(x, values, dashes, color=colour, linewidth=1.2, label=words)
    for axis, view in zip(axes, views, strict=True):
        axis.set_xlabel(view.printed_axis)
        if own:
            axis.set_title(view.title, fontsize=10)
            axis.set_ylabel(view.quantity or usual)
            axis.set_yscale("log" if view.log else "linear")
    axes[0].set_ylabel(views[0].quantity or usual)
    _add_legends(figure, axes[-1:], inside="best")
    return figure


def _draw_curve(axis: Axes, group: Group, unit: int) -> None:
    colour = LIGHT[group.shade % len(LIGHT)]
    for part, style in (
        ("train", {"linewidth": 0.8, "markersize": 3, "linestyle": (0, (4, 2))}),
        ("test", {"linewidth": 1.8, "markersize": 8, "label": _words(group.label)}),
    ):
        steps = [(step.step / unit, found) for step in group.curve if (found := getattr(step, part))]
        marker = "." if len(steps) == 1 else "None"  # one point makes no line
        axis.plot([x for x, _ in steps], [found.mean for _, found in steps], marker=marker, color=colour, **style)
        sure = [(x, found) for x, found in steps if found.std is not None]
        axis.fill_between(
            [x for x, _ in sure],
            [found.mean - found.std for _, found in sure],
            [found.mean + found.std for _, found in sure],
            color=colour,
            alpha=0.13,
            linewidth=0,
        )


def _panels(count: int, *, alike: bool = True) -> tuple[Figure, list[Axes]]:
    """Return panels side by side, on one scale where they show something alike."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(PANEL[0] * count, PANEL[1]), layout="constrained")
    axes = figure.subplots(1, count, sharey=alike, squeeze=False)
    return figure, list(axes[0])


def _add_legends(figure: Figure, axes: Sequence[Axes], *, inside: Literal["best", "lower left"]) -> None:
    """Give each panel its legend, all `inside`, or all below, for which the page grows, where one would hide lines."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    names = [axis.get_legend_handles_labels()[1] for axis in axes]
    if all(len(each) <= MOST_INSIDE and max(map(len, each)) <= WIDEST_INSIDE for each in names):
        for axis in axes:
            axis.legend(loc=inside)
        return
    below = {axis: axis.legend(loc="upper center") for axis in axes}
    for legend in below.values():
        legend.set_in_layout(False)
    figure.draw_without_rendering()  # how high a legend is shows when it is drawn
    room = max(legend.get_window_extent().height for legend in below.values()) / figure.dpi
    height = PANEL[1] + room
    figure.set_figheight(height)
    engine = figure.get_layout_engine()
    assert isinstance(engine, ConstrainedLayoutEngine)
    engine.set(rect=(0, room / height, 1, PANEL[1] / height))
    figure.draw_without_rendering()
    for axis, legend in below.items():
        middle = sum(axis.get_position().intervalx) / 2
        legend.set_bbox_to_anchor((middle, room / height), transform=figure.transFigure)


def _words(label: str) -> str:
    """Fold a long name, and keep matplotlib from reading a dollar sign as mathematics."""
    lines = textwrap.wrap(label, WIDEST, max_lines=MOST_LINES, placeholder=" ...", break_on_hyphens=False)
    return "\n".join(lines).replace("$", r"\$")


def write_svg(figure: Figure) -> str:
    """Return a figure as text."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()
