"""How numbers and tables look on a terminal."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.status import Status
from rich.text import Text

from reslab.cli.terminal.tables import FittedTable
from reslab.json_text import to_json
from reslab.legible import disarmed, legible
from reslab.runtime.listener import Listener


class Terminal(Console):
    """A console for text that comes from users and files: nothing in it is markup, an emoji or a command.

    Line breaks are ours at the ends of what is printed; those inside are not, and are shown as what they are.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Make text of a string: whatever is printed, put into a table or said of the work under way."""
        inner = text.strip("\n")
        before, _, after = text.partition(inner) if inner else (text, "", "")
        return super().render_str(f"{before}{legible(inner)}{after}", **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Render anything; text that came another way is looked through once more."""
        for segment in super().render(renderable, options):
            yield segment if segment.is_control else Segment(disarmed(segment.text), segment.style)

    def print(self, *objects: Any, crop: bool = False, **options: Any) -> None:
        """Print, and cut nothing off: a terminal folds what is too long for it, and copies it as one line."""
        super().print(*objects, crop=crop, **options)

    def on_broken_pipe(self) -> None:
        """Go on although the reader, `head` for one, has gone: what is said from here on is said to nobody."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())

    def status(self, status: RenderableType, **options: Any) -> Status:
        """Say what is going on; rich would look for markup in a string."""
        return super().status(self.render_str(status) if isinstance(status, str) else status, **options)


WIDE = 100_000  # what a file or a pipe has room for in a line
console = Terminal(width=None if sys.stdout.isatty() else WIDE)
progress_console = Terminal(stderr=True)


def say(sentence: str | Text) -> None:
    """Print a sentence, and leave it to the terminal to fold it."""
    console.print(sentence, soft_wrap=True)


def note(sentence: str) -> None:
    """Print a sentence beside the progress, where it disturbs no output."""
    progress_console.print(sentence, soft_wrap=True)


def note_all(sentences: Iterable[str]) -> None:
    """Print sentences there, a line each."""
    for sentence in sentences:
        note(sentence)


def warn(sentence: str) -> None:
    """Print a warning there."""
    note(f"warning: {sentence}")


def print_heading(subject: str, rest: str) -> None:
    """Print a subject in bold, and what it is."""
    say(Text.assemble((legible(subject), "bold"), f"  {rest}"))


SPEAKING = Listener(warn=warn)  # it prints warnings, and hears nothing else


def print_json(data: Any) -> None:
    """Print plain data as JSON, and nothing else."""
    print(to_json(data, indent=2))


def make_table(title: str, *columns: str, give_way: Sequence[str] = ()) -> FittedTable:
    """Start a table whose first column is text and whose others are numbers, unless marked with a trailing '<'.

    A narrow terminal may do without the columns named in `give_way`, the least important first.
    """
    table = FittedTable(title, give_way=give_way)
    for index, column in enumerate(columns):
        left = index == 0 or column.endswith("<")
        table.add_column(column.removesuffix("<"), justify="left" if left else "right", overflow="fold")
    return table


def print_table(
    title: str, columns: Iterable[str], rows: Iterable[Iterable[RenderableType]], *, give_way: Sequence[str] = ()
) -> None:
    """Print a table, columns as for `make_table`."""
    table = make_table(title, *columns, give_way=give_way)
    for row in rows:
        table.add_row(*row)
    console.print(table)
