"""A page of blocks, each drawn once, in rows that break between stages."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from reslab.drawing.block_parts import BlockPicture
from reslab.drawing.block_sketch import Sketch
from reslab.drawing.captions import explain
from reslab.drawing.svg import FAINT_INK, Pen, text_width

MARGIN = 32
ROOM = 1560
GAP = 44
ROW_GAP = 48


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
        lefts = [MARGIN + _row_width(row[:index]) + GAP * bool(index) for index in range(len(row))]
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
    return sum(sketch.width + GAP for sketch in row) - GAP if row else 0


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
