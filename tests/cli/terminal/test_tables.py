"""Tables that fit where they are printed."""

from __future__ import annotations

import io

import pytest

from reslab.cli.terminal.show import WIDE, Terminal, console, make_table
from reslab.cli.terminal.tables import FittedTable

ID = "resnet-110-cifar10-0b592b4f452d"


def make() -> FittedTable:
    columns = ("id", "what was changed<", "test error %", "images/s", "time")
    table = make_table("Runs (runs)", *columns, give_way=("time", "images/s"))
    table.add_row(ID, "weights=cifar10 freeze=conv3 iterations=640", "6.92 ± 0.10", "65,817", "11 min 51 s")
    return table


def lines_at(width: int, table: FittedTable) -> list[str]:
    terminal = Terminal(file=io.StringIO(), width=width)
    terminal.print(table)
    return [line.rstrip() for line in terminal.file.getvalue().splitlines()]  # pyright: ignore[reportAttributeAccessIssue]


def test_a_pipe_has_room_for_a_row_in_a_line() -> None:
    """However long it is; pytest has no terminal either."""
    assert console.width == WIDE
    table = make_table("Runs", "id", "where<")
    table.add_row(ID, "far " * 100)
    assert lines_at(WIDE, table)[-1] == f"{ID}  {'far ' * 100}".rstrip()


@pytest.mark.parametrize("width", [200, 100, 80, 60, 40])
def test_ids_and_numbers_are_never_broken(width: int) -> None:
    """Text folds between words; below what the rest needs, columns are left out, and a line names them."""
    lines = lines_at(width, make())
    text = "\n".join(lines)
    assert ID in text and "6.92 ± 0.10" in text
    assert all(word in text for word in ("weights=cifar10", "freeze=conv3", "iterations=640"))
    left_out = [heading for heading in ("time", "images/s") if heading not in lines[1] + lines[2]]
    assert left_out == {200: [], 100: [], 80: ["time"]}.get(width, ["time", "images/s"])
    told = " ".join(lines).partition("too narrow: ")[2]
    assert told.startswith(f"{', '.join(left_out)}. Add `| less -S`") if left_out else not told


def test_what_fits_stays_in_its_lines() -> None:
    """A column that could give way does not where folding is enough."""
    assert all(len(line) <= 100 for line in lines_at(100, make()))
    assert len(lines_at(200, make())) == 3
