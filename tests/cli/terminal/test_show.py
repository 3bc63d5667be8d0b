"""How things look on a terminal."""

from __future__ import annotations

import io
import json
import math

import pytest
from rich.console import Group
from rich.text import Text

from reslab.cli.terminal.show import Terminal, make_table, print_heading, print_json, warn


def test_json_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    """For readers in any language: no NaN, and nothing that a terminal would take for a command."""
    print_json({"loss": math.nan, "name": "a\x1b[31m\x7f\x9b\u202eé"})
    printed = capsys.readouterr().out
    assert printed.isascii() and printed.replace("\n", "").isprintable()
    assert json.loads(printed, parse_constant=pytest.fail) == {"loss": None, "name": "a\x1b[31m\x7f\x9b\u202eé"}


EVIL = "\x1b[31m\x9b\u202e[red][/nonsense]:cat:\r\nreslab: all is well"
SHOWN = r"\x1b[31m\x9b\u202e[red][/nonsense]:cat:\r\nreslab: all is well"


def show(*objects: object, **options: object) -> str:
    terminal = Terminal(file=io.StringIO(), width=200)
    terminal.print(*objects, **options)  # pyright: ignore[reportArgumentType]
    return terminal.file.getvalue()  # pyright: ignore[reportAttributeAccessIssue]


def test_foreign_text_is_shown_and_not_obeyed() -> None:
    """In sentences, titles, headings, cells and styled text: no escape, markup, emoji or line of its own."""
    assert show(f"wrote {EVIL}") == f"wrote {SHOWN}\n"
    assert show(f"\n{EVIL}\n") == f"\n{SHOWN}\n\n"  # line breaks at the ends are ours
    assert show("") == "\n" and show("\n") == "\n\n"
    table = make_table(EVIL, EVIL, f"{EVIL}<")
    table.add_row(EVIL, "x")
    lines = show(table).splitlines()
    assert [line.rstrip() for line in lines] == [SHOWN, f"{SHOWN}  {SHOWN}", f"{SHOWN}  x"]
    styled = show(Text(EVIL, style="bold"), Group(EVIL))  # rich itself drops the carriage return of the first
    assert "\x1b" not in styled and "\x9b" not in styled and "\u202e" not in styled
    assert styled.endswith(f"{SHOWN}\n")


def test_what_is_ours_still_has_style() -> None:
    """Colours and cursors are commands of ours, on a terminal."""
    terminal = Terminal(file=io.StringIO(), force_terminal=True, color_system="standard", width=200)
    terminal.print(Text(EVIL, style="red"))
    told = terminal.file.getvalue()  # pyright: ignore[reportAttributeAccessIssue]
    assert told.startswith("\x1b[31m\\x1b[31m")
    with terminal.status(f"writing {EVIL}"):  # [/nonsense] would be an error in markup
        pass
    assert "\x1b[31m\x9b" not in terminal.file.getvalue()  # pyright: ignore[reportAttributeAccessIssue]


def test_headings_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever the subject is called; what follows may end with a line of its own."""
    print_heading(EVIL, "resnet-20\n")
    warn(f"{EVIL} is strange")
    printed = capsys.readouterr()
    assert printed.out == f"{SHOWN}  resnet-20\n\n"
    assert printed.err == f"warning: {SHOWN} is strange\n"
