"""What a terminal would obey is shown."""

from __future__ import annotations

import os

import pytest

from reslab.legible import disarmed, legible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x00\x07\x08\x7f", r"\x00\x07\x08\x7f"),
        ("\x9b2J\x80\x9f", r"\x9b2J\x80\x9f"),
        ("\u202eexe.gnp\u2066\u2069", r"\u202eexe.gnp\u2066\u2069"),
        ("two\nlines\r\tand", r"two\nlines\r\tand"),
        (os.fsdecode(b"caf\xe9"), r"caf\xe9"),
        ("\ud800", r"\ud800"),
    ],
)
def test_what_a_terminal_would_obey_is_shown(text: str, shown: str) -> None:
    """Control characters, directions of writing, and bytes that are no text; once escaped it stays so."""
    assert legible(text) == shown == legible(shown)
    assert shown.isprintable()
    assert disarmed(text) == shown.replace(r"\n", "\n")


def test_what_can_be_read_stays() -> None:
    """In any script, with brackets, backslashes and emoji."""
    text = r"Ärzte 漢字 עברית عربى 🐈 [red] C:\new \x1b a b"
    assert legible(text) == disarmed(text) == text
