"""Asking before what takes long."""

from __future__ import annotations

import io
import sys

import pytest

from reslab.cli.terminal import asking
from reslab.cli.terminal.asking import LONG, ask_before
from reslab.cli.terminal.show import Terminal
from reslab.errors import UserError


def at_terminal(monkeypatch: pytest.MonkeyPatch, answer: str) -> io.StringIO:
    printed, keys = io.StringIO(), io.StringIO(answer)
    monkeypatch.setattr(keys, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stdin", keys)
    monkeypatch.setattr(asking, "progress_console", Terminal(file=printed, force_terminal=True, width=200))
    return printed


def test_what_is_short_or_agreed_to_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its time, by --yes, or by a yes at the terminal."""
    ask_before("training", LONG, yes=False)
    ask_before("training", 1e6, yes=True)
    printed = at_terminal(monkeypatch, "Y\n")
    ask_before("training", 1e6, yes=False)
    assert "training takes about 11 d 13 h. Start? [y/N] " in printed.getvalue()


@pytest.mark.parametrize("answer", ["\n", "no\n", ""])
def test_anything_but_yes_starts_nothing(monkeypatch: pytest.MonkeyPatch, capsys, answer: str) -> None:
    """Not even the end of the input; nothing that was not done ends with 0."""
    at_terminal(monkeypatch, answer)
    with pytest.raises(SystemExit) as stop:
        ask_before("training", 1e6, yes=False)
    assert stop.value.code == 1
    assert "Nothing was started." in capsys.readouterr().err


def test_without_a_terminal_the_flag_is_wanted() -> None:
    """In one sentence that says how long it takes."""
    with pytest.raises(UserError, match=r"^training takes about 11 d 13 h; add --yes to start it, or --dry-run to"):
        ask_before("training", 1e6, yes=False)
