"""Tables that fit where they are printed, without breaking a word or a number: ids can be copied and searched for.

Headings and text fold between words. Where that is not enough, the columns named in `give_way` are left out, and a line
says so. A file or a pipe has room for everything.
"""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

GAP = 2  # between columns
LONGEST_WORD = 16  # of a heading; a path in one may break


class FittedTable(Table):
    """A table under its name; `give_way` are headings of columns to do without, the least important first."""

    def __init__(self, name: str, *, give_way: Sequence[str] = ()) -> None:
        super().__init__(header_style="dim", box=None, pad_edge=False, padding=(0, GAP, 0, 0))
        self.name, self.give_way = name, give_way

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        measured = [(column, _measure(column, console, options)) for column in self.columns]
        left_out = []
        for heading in self.give_way:
            if _total(least for _, (least, _) in measured) <= options.max_width:
                break
            left_out += [heading for column, _ in measured if column.header == heading]
            measured = [(column, sizes) for column, sizes in measured if column.header != heading]
        widths = _share([sizes for _, sizes in measured], options.max_width)
        shown = copy.copy(self)
        shown.columns = [
            replace(column, width=width, _index=index)
            for index, ((column, _), width) in enumerate(zip(measured, widths, strict=True))
        ]
        shown.width = _total(widths)
        if self.name:
            title = console.render_str(self.name, style="bold")
            title.no_wrap, title.overflow = True, "ignore"
            yield title
        yield from Table.__rich_console__(shown, console, options)
        if left_out:
            yield Text(
                f"Not shown, because the terminal is too narrow: {', '.join(left_out)}. "
                "Add `| less -S` to see every column."
            )


def _measure(column: Column, console: Console, options: ConsoleOptions) -> Measurement:
    """Return how wide a column must be and would be: text folds between words, headings too, numbers nowhere."""
    sizes = [Measurement.get(console, options, cell) for cell in column.cells]
    widest = max((size.maximum for size in sizes), default=0)
    least = max((size.minimum for size in sizes), default=0) if column.justify == "left" else widest
    heading = Measurement.get(console, options, column.header)
    least = max(least, min(heading.minimum, LONGEST_WORD))
    widest = max(widest, heading.maximum)
    return Measurement(least, widest if column.max_width is None else max(least, min(widest, column.max_width)))


def _share(sizes: Sequence[Measurement], width: int) -> list[int]:
    """Return the width of each column: all it wants where there is room; else the widest shrink first."""
    widths = [size.maximum for size in sizes]
    while _total(widths) > width:
        able = [index for index, size in enumerate(sizes) if widths[index] > size.minimum]
        if not able:  # the terminal breaks the lines itself, and what is copied from it is whole
            break
        widths[max(able, key=lambda index: widths[index])] -= 1
    return widths


def _total(widths: Iterator[int] | Sequence[int]) -> int:
    found = list(widths)
    return sum(found) + GAP * (len(found) - 1)
