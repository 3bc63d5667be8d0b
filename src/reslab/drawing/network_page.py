"""A page of whole networks, drawn as in the paper's Fig. 3.

Solid lines are identity shortcuts, dotted ones zero padding (the paper's convention), dashed ones projections;
the legend says so for the kinds in use.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Literal

from reslab.drawing.captions import explain
from reslab.drawing.parts import LINES, Column, Shortcut, ShortcutKind
from reslab.drawing.placement import BOX_HEIGHT, MARGIN, NOTE_SIZE, REACH, TEXT_SIZE, TITLE_SIZE, Place, place_columns
from reslab.drawing.svg import FAINT_INK, LINE, PAPER, Pen, text_width, tone, wrap

TITLE_HEIGHT = 20
LEGEND_SIZE = 11
LEGEND_HEIGHT = 20
LINE_HEIGHT = 16
MERGE = 9  # from a block's last box down to the addition
SPLIT = 9  # from where a shortcut leaves down to the block's first box

MEANINGS: dict[ShortcutKind, str] = {
    "identity": "identity shortcut",
    "zero-padding": "zero padding: identity with a stride, the new channels zeros",
    "projection": "projection W_s: a learned linear map",
}
GATE = "gate T(x): weighs the block's output, and 1 − T(x) its shortcut"
ADDITION = "addition, element by element"


def draw_network_page(columns: Sequence[Column]) -> str:
    """Draw the columns side by side."""
    pen = Pen()
    places = place_columns(columns)
    narrowest = min((box.width for column in columns for box in column.boxes if box.width), default=1)
    heads = [wrap(place.column.name, place.head_width, TITLE_SIZE, bold=True) for place in places]
    facts_at = MARGIN + TITLE_HEIGHT * max(map(len, heads))
    source_at = facts_at + LINE_HEIGHT * max(len(column.facts) for column in columns) + 18
    for place, head in zip(places, heads, strict=True):
        for index, line in enumerate(reversed(head), start=1):
            pen.text(place.x, facts_at - TITLE_HEIGHT * index, line, size=TITLE_SIZE, bold=True)
        for index, fact in enumerate(place.column.facts):
            pen.text(place.x, facts_at + LINE_HEIGHT * index, fact, size=11, colour=FAINT_INK)
        pen.text(place.x, source_at, place.column.source)
        _draw_column(pen, place, source_at + 10, narrowest=narrowest)
    bottom = source_at + 10 + max(place.tops[-1] for place in places) + BOX_HEIGHT
    width, height = _draw_legend(pen, columns, bottom + 36)
    return pen.page(
        width=max(width, places[-1].right + MARGIN),
        height=height,
        title=", ".join(column.name for column in columns),
        description="; ".join(f"{column.name}: {', '.join(column.facts)}" for column in columns),
    )


def _draw_column(pen: Pen, place: Place, top: float, *, narrowest: int) -> None:
    tops = [top + y for y in place.tops]
    for above, below in zip([top - BOX_HEIGHT, *tops], tops, strict=False):
        pen.arrow((place.x, above + BOX_HEIGHT), (place.x, below))
    _draw_shortcuts(pen, place, tops)
    left = place.x - place.box_width / 2
    for box, note, y in zip(place.column.boxes, place.notes, tops, strict=True):
        middle, dash = y + BOX_HEIGHT / 2, "dashed" if box.folded else "solid"
        colours = tone(box.width, narrowest)
        pen.box(place.x, middle, width=place.box_width, height=BOX_HEIGHT, colours=colours, dash=dash)
        pen.text(place.x, middle, box.text, size=TEXT_SIZE)
        pen.text(left - 10, middle, note, size=NOTE_SIZE, anchor="end", colour=FAINT_INK)


def _draw_shortcuts(pen: Pen, place: Place, tops: Sequence[float]) -> None:
    rest = iter(tops)
    for step in place.column.steps:
        tops_here = list(itertools.islice(rest, len(step.boxes)))
        if step.shortcut:
            start, end = tops_here[0] - SPLIT, tops_here[-1] + BOX_HEIGHT + MERGE
            _draw_shortcut(pen, place, shortcut=step.shortcut, start=start, end=end)


def _draw_shortcut(pen: Pen, place: Place, *, shortcut: Shortcut, start: float, end: float) -> None:
    edge = place.x + place.box_width / 2
    dash = LINES[shortcut.kind]
    pen.bulge((place.x, start), (place.x + 6, end), from_x=edge, reach=REACH, dash=dash)
    pen.head((edge, end), (place.x + 5, end))
    pen.plus(place.x, end, 5)
    middle, beside = (start + end) / 2, edge + REACH
    if shortcut.gated:
        _draw_gate(pen, beside, middle)
    pen.text(beside + (20 if shortcut.gated else 7), middle, shortcut.label, size=NOTE_SIZE, anchor="start")


def _draw_gate(pen: Pen, x: float, y: float) -> None:
    pen.box(x, y, width=28, height=15, colours=(PAPER, LINE), radius=7.5)
    pen.text(x, y, "T(x)", size=NOTE_SIZE)


def _draw_legend(pen: Pen, columns: Sequence[Column], top: float) -> tuple[float, float]:
    """Draw an entry for each kind of shortcut in use, then the short forms; return the page's width and height."""
    shortcuts = [step.shortcut for column in columns for step in column.steps if step.shortcut]
    used = {shortcut.kind for shortcut in shortcuts}
    entries: list[tuple[ShortcutKind | Literal["gate", "addition"], str]] = [
        (kind, meaning) for kind, meaning in MEANINGS.items() if kind in used
    ]
    if any(shortcut.gated for shortcut in shortcuts):
        entries.append(("gate", GATE))
    if shortcuts:
        entries.append(("addition", ADDITION))
    y = top
    for kind, meaning in entries:
        if kind == "gate":
            _draw_gate(pen, MARGIN + 18, y)
        elif kind == "addition":
            pen.plus(MARGIN + 18, y, 5)
        else:
            pen.line([(MARGIN, y), (MARGIN + 36, y)], dash=LINES[kind], weight=1.4)
        pen.text(MARGIN + 48, y, meaning, size=LEGEND_SIZE, anchor="start", colour=FAINT_INK)
        y += LEGEND_HEIGHT
    short_forms = explain([box.text for column in columns for box in column.boxes])
    pen.text(MARGIN, y, short_forms, size=LEGEND_SIZE, anchor="start", colour=FAINT_INK)
    widths = [text_width(short_forms, LEGEND_SIZE), *[48 + text_width(text, LEGEND_SIZE) for _, text in entries]]
    return max(widths) + 2 * MARGIN, y + (LEGEND_HEIGHT if short_forms else 0) + MARGIN - 10
