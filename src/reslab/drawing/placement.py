"""Where the columns of a page of networks stand: side by side, equal map sizes at equal heights (as in Fig. 3)."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from reslab.drawing.parts import Column, Step
from reslab.drawing.svg import text_width

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
