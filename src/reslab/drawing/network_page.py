"""A page of whole networks, drawn as in the paper's Fig. 3: side by side, equal map sizes at equal heights.

Solid lines are identity shortcuts, dotted ones zero padding (the paper's convention), dashed ones projections;
the legend says so for the kinds in use.
"""

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from reslab.drawing.captions import explain
from reslab.drawing.parts import LINES, Column, Shortcut, ShortcutKind, Step
from reslab.drawing.svg import FAINT_INK, LINE, PAPER, Pen, text_width, tone, wrap

MARGIN = 28
BOX_HEIGHT = 24
MIN_BOX_WIDTH = 136
TEXT_SIZE = 12
NOTE_SIZE = 10.5
TITLE_SIZE = 15
REACH = 26  # how far a shortcut bows out beside its column
GAP = 12
GAP_IN_BLOCK = 9
GAP_BEFORE_BLOCK = 15  # room for a shortcut to leave
GAP_AFTER_BLOCK = 26  # room for the addition, and for the next shortcut to leave
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

# The boxes over which one map size lasts: the network's input, the note on the size, and which visit to it this is.
Stretch = tuple[str, str, int]


@dataclass(frozen=True, kw_only=True)
class Place:
    """A column with its place: its extent, the middle and width of its boxes, their tops, and the notes beside them."""

    column: Column
    left: float
    right: float
    x: float
    box_width: float
    tops: tuple[float, ...]
    notes: tuple[str, ...]

    @property
    def head_width(self) -> float:
        """The room for the name, which stands over the boxes."""
        return 2 * min(self.x - self.left, self.right - self.x)


def place_columns(columns: Sequence[Column]) -> list[Place]:
    """Give each column its place; heights count from the first box."""
    places: list[Place] = []
    left, shown = float(MARGIN), set[Stretch]()
    for column, tops in zip(columns, _align(columns), strict=True):
        stretches = _stretches(column)
        # What the column to the left already says at the same height is not repeated.
        notes = tuple(first[1] if first and first not in shown else "" for first in _firsts(stretches))
        shown = set(stretches)
        gutter = max(text_width(note, NOTE_SIZE) for note in notes) + 16
        box_width = max(MIN_BOX_WIDTH, *[text_width(box.text, TEXT_SIZE) + 16 for box in column.boxes])
        half_head = max(text_width(word, TITLE_SIZE, bold=True) for word in column.name.split()) / 2
        x = left + max(gutter + box_width / 2, half_head)
        right = x + max(box_width / 2 + _room_beside(column), half_head)
        places.append(Place(column=column, left=left, right=right, x=x, box_width=box_width, tops=tops, notes=notes))
        left = right + 12
    return places


def _room_beside(column: Column) -> float:
    labels = [step.shortcut.label for step in column.steps if step.shortcut]
    return REACH + max(text_width(label, NOTE_SIZE) for label in labels) + 24 if labels else 16


def _align(columns: Sequence[Column]) -> list[tuple[float, ...]]:
    """Return the tops of all boxes, each stretch beginning as low as the column that needs it lowest.

    Columns that visit the same sizes in different orders (a pool may enlarge a small map) push each other down
    without end: they are not aligned.
    """
    starts: dict[Stretch, float] = {}
    for _ in range(1 + sum(len(column.boxes) for column in columns)):
        stacks = [_stack(column, starts) for column in columns]
        lowest: dict[Stretch, float] = {}
        for column, tops in zip(columns, stacks, strict=True):
            for first, top in zip(_firsts(_stretches(column)), tops, strict=True):
                if first:
                    lowest[first] = max(top, lowest.get(first, 0.0))
        if lowest == starts:
            return stacks
        starts = lowest
    return [_stack(column, {}) for column in columns]


def _stack(column: Column, starts: dict[Stretch, float]) -> tuple[float, ...]:
    """Return the tops of a column's boxes; a block moves as a whole, also where the map changes inside it."""
    tops: list[float] = []
    stretches = iter(_stretches(column))
    bottom = 0.0
    for before, step in zip([None, *column.steps], column.steps, strict=False):
        offsets = [index * (BOX_HEIGHT + GAP_IN_BLOCK) for index in range(len(step.boxes))]
        wanted = [starts.get(next(stretches), 0.0) - offset for offset in offsets]
        top = max(bottom + _gap(before, step), *wanted)
        tops += [top + offset for offset in offsets]
        bottom = tops[-1] + BOX_HEIGHT
    return tuple(tops)


def _gap(before: Step | None, step: Step) -> float:
    if before is not None and before.is_block:
        return GAP_AFTER_BLOCK
    return GAP_BEFORE_BLOCK if step.is_block else GAP


def _stretches(column: Column) -> list[Stretch]:
    """Return the stretch each box belongs to."""
    stretches: list[Stretch] = []
    visits = Counter[str]()
    for size, run in itertools.groupby(box.size for box in column.boxes):
        stretches += [(column.source, size, visits[size]) for _ in run]
        visits[size] += 1
    return stretches


def _firsts(stretches: Sequence[Stretch]) -> list[Stretch | None]:
    """Keep each stretch where it begins."""
    return [now if now != before else None for before, now in zip([None, *stretches], stretches, strict=False)]


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
