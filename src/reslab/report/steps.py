"""What an instrument found at several steps of one run, as lines along the training; no torch."""

import re
import statistics
from collections.abc import Mapping, Sequence

from reslab.analysis.catalogue import InstrumentPanel, Mark, View
from reslab.numbers import count
from reslab.tasks.display import Cell, Plot, Section

FILE = re.compile(r"(?P<name>[a-z]+(-\w+)?)@(?P<step>\d+)")


def split_step(stem: str) -> tuple[str, int | None]:
    """Split the name of a finding into that of the instrument with its settings, and the step it is of, if any."""
    found = FILE.fullmatch(stem)
    return (found["name"], int(found["step"])) if found else (stem, None)


def show_steps(panels: Mapping[int, InstrumentPanel], *, key: str) -> list[Section]:
    """Return a section with a chart for each view, over the steps; nothing of fewer than two steps.

    In each chart the median of what was found at a step is a line, a band reaches from the least to the most, and the
    first and the last layer or block have lines of their own.
    """
    steps = sorted(step for step, panel in panels.items() if panel.marks)
    if len(steps) < 2:
        return []
    kind = panels[steps[0]]
    # What is sorted has the same values again.
    views = [view for view in kind.views if not view.by_size and all(panels[step].marks_in(view) for step in steps)]
    lines = {view: [panels[step].marks_in(view) for step in steps] for view in views}
    rows = [
        (f"step {count(step)}", tuple(_write(_median(marks[place])) for marks in lines.values()))
        for place, step in enumerate(steps)
    ]
    quantities = {view: view.quantity or kind.axis for view in views}
    return [
        Section(
            title=f"{kind.title} along the training",
            note=(
                "Lines are medians at each step that was measured; bands reach from the least to the most, and the "
                f"first and the last have lines of their own. {count(kind.images)} images of {kind.data}."
            ),
            table_title="Medians",
            words=f"{kind.title} at each step, medians",
            headings=(("", ""), *((view.title, quantities[view]) for view in views)),
            rows=tuple(rows),
            plots=tuple(_draw(view, quantities[view], steps, marks, key=key) for view, marks in lines.items()),
        )
    ]


def _draw(view: View, quantity: str, steps: Sequence[int], marks: Sequence[Sequence[Mark]], *, key: str) -> Plot:
    values = [[mark.value for mark in at] for at in marks]
    low, high = ([_short(of(at)) for at in values] for of in (min, max))
    fullest = max(marks, key=len)  # at some steps, nothing may be known of a layer or block
    names = dict.fromkeys((fullest[0].name, fullest[-1].name))
    content = {
        "x": list(steps),
        "y": [_short(_median(at)) for at in marks],
        "name": "median",
        "words": quantity,
        "log": view.log and min(map(min, values)) > 0,
        "axes": ["iterations"],
        "band": {"low": low, "high": high},
        "lines": [
            {"name": name, **_follow(name, steps, marks), "shade": shade, "dashed": True}
            for shade, name in enumerate(names, start=1)
        ],
    }
    return Plot(f"{key}-{view.key}", "profile", view.title, content, words=f"{view.title} over the iterations")


def _follow(name: str, steps: Sequence[int], marks: Sequence[Sequence[Mark]]) -> dict[str, list[float]]:
    """Return the steps at which there is a mark of this name, and its values there."""
    found = [(step, mark.value) for step, at in zip(steps, marks, strict=True) for mark in at if mark.name == name]
    return {"x": [step for step, _ in found], "y": [_short(value) for _, value in found]}


def _median(marks: Sequence[Mark]) -> float:
    return statistics.median(mark.value for mark in marks)


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _write(value: float) -> Cell:
    return Cell(value, f"{value:.4g}")
