"""How numbers and tables look on a terminal."""

from __future__ import annotations

import sys
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from reslab.json_text import to_json

# A pipe has no width of its own: give tables room rather than fold them.
# What is printed comes from users and files: brackets in it are no markup.
console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 120)
progress_console = Console(stderr=True, highlight=False, markup=False)


def print_heading(subject: str, rest: str) -> None:
    """Print a subject in bold, and what it is."""
    console.print(Text.assemble((subject, "bold"), f"  {rest}"), soft_wrap=True)


def warn(sentence: str) -> None:
    """Print a warning beside the progress, where it disturbs no output."""
    progress_console.print(f"warning: {sentence}", soft_wrap=True)


def print_json(data: Any) -> None:
    """Print plain data as JSON, and nothing else."""
    print(to_json(data, indent=2))


def make_table(title: str, *columns: str) -> Table:
    """Start a table whose first column is text and whose others are numbers, unless marked with a trailing '<'."""
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        header_style="dim",
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
    )
    for index, column in enumerate(columns):
        left = index == 0 or column.endswith("<")
        table.add_column(column.removesuffix("<"), justify="left" if left else "right", overflow="fold")
    return table


def shape(sizes: tuple[int, ...]) -> str:
    """Format a shape without its batch: 64x56x56."""
    return "x".join(map(str, sizes[1:])) or "-"
