"""A page of blocks, each drawn once, in rows that break between stages.

A block is drawn as in Figs. 2 and 5: F on the left, the shortcut on the right, the addition where they meet.
A gated one has a lane more: T(x) stands between F and the shortcut, and weighs both.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from reslab.drawing.block_parts import BlockPicture, Part
from reslab.drawing.captions import explain
from reslab.drawing.parts import LINES
from reslab.drawing.svg import ACTIVATION, FAINT_INK, LINE, NEUTRAL, PAPER, Pen, text_width, tone

MARGIN = 32
ROOM = 1560
BLOCK_GAP = 44
ROW_GAP = 48
TEXT_SIZE = 12
NAME_SIZE = 13
LINE_HEIGHT = 15
PART_GAP = 14
BESIDE_GAP = 8  # between the parts of a shortcut
LANE_GAP = 24
BEND = 22  # room for the bends of the shortcut, above and under its parts
MIN_BRANCH = 132
BRACE = 46  # room for the brace that says F(x)
CIRCLE = 9
# By what a gate multiplies F and the shortcut, and how wide that comes out.
WEIGHT_WIDTHS = {"× T": 44, "× (1 − T)": 72}


def draw_block_page(title: str, pictures: Sequence[BlockPicture], *, facts: str) -> str:
    """Draw the blocks in rows under the network's name."""
    pen = Pen()
    narrowest = min((part.width for picture in pictures for part in picture.parts if part.width), default=1)
    sketches = [Sketch(pen, picture, narrowest=narrowest) for picture in pictures]
    pen.text(MARGIN, MARGIN + 2, title, size=16, anchor="start", bold=True)
    pen.text(MARGIN, MARGIN + 24, facts, size=11.5, anchor="start", colour=FAINT_INK)
    y = MARGIN + 66.0
    rows = list(_break(sketches))
    for row in rows:
        lefts = [MARGIN + _row_width(row[:index]) + BLOCK_GAP * bool(index) for index in range(len(row))]
        y = ROW_GAP + max(sketch.draw(left, y) for left, sketch in zip(lefts, row, strict=True))
    channels = pictures[0].source.partition("-d")[0]
    texts = [part.text for picture in pictures for part in picture.parts]
    key = " · ".join(filter(None, [f"{channels}-d: {channels} channels", explain(texts)]))
    pen.text(MARGIN, y - 8, key, size=11, anchor="start", colour=FAINT_INK)
    written = max(text_width(title, 16, bold=True), text_width(facts, 11.5), text_width(key, 11))
    return pen.page(
        width=max(written, *map(_row_width, rows)) + 2 * MARGIN,
        height=y + MARGIN - 8,
        title=f"Blocks of {title}",
        description="; ".join(f"{picture.names}: {', '.join(picture.notes)}" for picture in pictures),
    )


def _row_width(row: Sequence[Sketch]) -> float:
    return sum(sketch.width + BLOCK_GAP for sketch in row) - BLOCK_GAP if row else 0


def _break(sketches: Sequence[Sketch]) -> Iterator[list[Sketch]]:
    """Fill rows with as many whole stages as fit, one at least."""
    row: list[Sketch] = []
    for _, group in itertools.groupby(sketches, lambda sketch: sketch.picture.stage):
        stage = list(group)
        if row and _row_width([*row, *stage]) > ROOM:
            yield row
            row = []
        row += stage
    yield row


class Sketch:
    """One block with the measures of its lanes, counted from the left edge of the first."""

    def __init__(self, pen: Pen, picture: BlockPicture, *, narrowest: int) -> None:
        self.pen = pen
        self.picture = picture
        self.narrowest = narrowest
        self.branch_width = max(MIN_BRANCH, _width((*picture.before, *picture.branch, *picture.after)))
        brace = BRACE if picture.shortcut else 0
        self.branch_x = brace + self.branch_width / 2
        gate_width = _width([picture.gate]) + LANE_GAP if picture.gate else 0
        self.gate_x = brace + self.branch_width + LANE_GAP / 2 + gate_width / 2
        least = WEIGHT_WIDTHS["× (1 − T)"] if picture.gate else 0
        shortcut_width = max(_width(picture.beside), least) + LANE_GAP if picture.beside else 0
        self.shortcut_x = brace + self.branch_width + gate_width + LANE_GAP / 2 + shortcut_width / 2
        self.lanes_width = brace + self.branch_width + gate_width + shortcut_width
        captions = [text_width(note, TEXT_SIZE) for note in picture.notes]
        self.width = max(self.lanes_width, text_width(picture.names, NAME_SIZE, bold=True), *captions)

    def draw(self, left: float, top: float) -> float:
        """Draw the block with its caption; return how far down it reaches."""
        picture, middle = self.picture, left + self.width / 2
        left = middle - self.lanes_width / 2
        x = left + self.branch_x
        self.pen.text(x, top, f"x: {picture.source}")
        y = self._draw_chain(picture.before, x, top + 10)
        if picture.shortcut:
            self.pen.line([(x, y), (x, y + PART_GAP)])
            y = self._draw_split(left, y + PART_GAP)
        else:
            y = self._draw_chain(picture.branch, x, y)
        y = self._draw_chain(picture.after, x, y)
        self.pen.arrow((x, y), (x, y + 22))
        self.pen.text(x, y + 33, f"y: {picture.result}")
        return self._draw_caption(middle, y + 64)

    def _draw_chain(self, parts: Sequence[Part], x: float, y: float) -> float:
        """Draw operators one under the other, an arrow into each; return where they end."""
        for part in parts:
            self.pen.arrow((x, y), (x, y + PART_GAP))
            # Weight layers fill their lane; what stands between them is narrower.
            width = self.branch_width if part.kind == "weight" else max(self.branch_width * 0.6, _width([part]))
            self._draw_part(part, x, y + PART_GAP, width=width)
            y += PART_GAP + _height(part)
        return y

    def _draw_split(self, left: float, split: float) -> float:
        """Draw F, the shortcut beside it and their addition; return where the addition ends."""
        picture = self.picture
        x, beside_x = left + self.branch_x, left + self.shortcut_x
        branch_ends = self._draw_chain(picture.branch, x, split)
        self._draw_brace(left, split + PART_GAP, branch_ends)
        beside_height = sum(_height(part) + BESIDE_GAP for part in picture.beside) - BESIDE_GAP
        lanes_end = max(branch_ends, split + beside_height + 2 * BEND - PART_GAP - CIRCLE)
        if picture.gate:
            weigh = max(lanes_end, split + BEND + _height(picture.gate)) + PART_GAP + 12
            joins = weigh + 12 + PART_GAP + CIRCLE
        else:
            weigh = joins = lanes_end + PART_GAP + CIRCLE
        assert picture.shortcut
        leaves = left + self.gate_x if picture.gate else x
        self.pen.line(
            [(leaves, split), (beside_x, split), (beside_x, joins), (x + CIRCLE, joins)], dash=LINES[picture.shortcut]
        )
        self.pen.head((beside_x, joins), (x + CIRCLE, joins))
        self._draw_beside(beside_x, (split + weigh - beside_height) / 2)
        if picture.gate:
            self._draw_gate(left, split, weigh)
            self.pen.line([(x, branch_ends), (x, weigh - 10)])
            self.pen.arrow((x, weigh + 10), (x, joins - CIRCLE))
        else:
            self.pen.arrow((x, branch_ends), (x, joins - CIRCLE))
        self.pen.dot(x, split)
        self.pen.plus(x, joins, CIRCLE)
        return joins + CIRCLE

    def _draw_brace(self, left: float, top: float, bottom: float) -> None:
        x = left + BRACE - 12
        self.pen.line([(x + 5, top), (x, top), (x, bottom), (x + 5, bottom)], colour=FAINT_INK, weight=1)
        self.pen.text(x - 6, (top + bottom) / 2, "F(x′)" if self.picture.before else "F(x)", anchor="end", italic=True)

    def _draw_beside(self, x: float, y: float) -> None:
        width = _width(self.picture.beside)
        for part in self.picture.beside:
            self._draw_part(part, x, y, width=_width([part]) if part.kind == "norm" else width)
            y += _height(part) + BESIDE_GAP

    def _draw_gate(self, left: float, split: float, weigh: float) -> None:
        """Draw T(x) in the middle lane, and how it weighs F to its left and the shortcut to its right."""
        gate = self.picture.gate
        assert gate
        x = left + self.gate_x
        self.pen.line([(left + self.branch_x, split), (x, split)])
        self.pen.line([(x, split), (x, weigh)])
        self.pen.dot(x, split)
        ends = (left + self.branch_x, left + self.shortcut_x)
        for end, (weight, width) in zip(ends, WEIGHT_WIDTHS.items(), strict=True):
            half = width / 2
            self.pen.arrow((x, weigh), (end + (half if end < x else -half), weigh))
            self.pen.head((end, split), (end, weigh - 10))
            self.pen.box(end, weigh, width=width, height=20, colours=(PAPER, LINE), radius=10)
            self.pen.text(end, weigh, weight)
        self._draw_part(gate, x, (split + weigh - _height(gate)) / 2, width=_width([gate]))

    def _draw_part(self, part: Part, x: float, top: float, *, width: float) -> None:
        colours, dash = {
            "weight": (tone(part.width, self.narrowest), "solid"),
            "norm": (NEUTRAL, "solid"),
            "activation": (ACTIVATION, "solid"),
            "regularization": ((PAPER, NEUTRAL[1]), "dashed"),
            "identity": ((PAPER, PAPER), "solid"),
            "zero-padding": ((PAPER, LINE), "dotted"),
        }[part.kind]
        middle, lines = top + _height(part) / 2, part.text.split("\n")
        self.pen.box(x, middle, width=width, height=_height(part), colours=colours, dash=dash)
        for index, line in enumerate(lines):
            self.pen.text(x, middle + (index - (len(lines) - 1) / 2) * LINE_HEIGHT, line, size=TEXT_SIZE)

    def _draw_caption(self, x: float, y: float) -> float:
        self.pen.text(x, y, self.picture.names, size=NAME_SIZE, bold=True)
        for note in self.picture.notes:
            y += 17
            self.pen.text(x, y, note, size=TEXT_SIZE, colour=FAINT_INK)
        return y


def _width(parts: Sequence[Part]) -> float:
    return max(text_width(line, TEXT_SIZE) for part in parts for line in part.text.split("\n")) + 18


def _height(part: Part) -> float:
    return LINE_HEIGHT * len(part.text.split("\n")) + (13 if part.kind == "weight" else 7)
