"""Written TOML, read back by Python's own reader."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reslab.errors import UserError
from reslab.spec.recipe import find_recipe
from reslab.spec.toml import read_toml, write_toml

TEXT = st.text(st.characters(exclude_categories=("Cs",)))
SCALARS = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | TEXT
DATA = st.dictionaries(
    TEXT,
    st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)),
    max_size=4,
)


@given(DATA)
def test_what_is_written_is_read_back(data: dict[str, Any]) -> None:
    """Any nesting of tables, lists and scalars; whole numbers stay whole, others stay others."""
    read = tomllib.loads(write_toml(data))
    assert read == data
    assert json.dumps(read, sort_keys=True) == json.dumps(data, sort_keys=True)  # 1, 1.0 and true are equal, not alike


def test_what_is_none_is_left_out() -> None:
    """At the top, in tables and in tables within lists."""
    data = {"a": None, "b": {"c": None}, "d": [{"e": None, "f": 1}]}
    assert tomllib.loads(write_toml(data)) == {"b": {}, "d": [{"f": 1}]}


def test_it_reads_well() -> None:
    """Values first, then tables by their dotted names."""
    assert (
        write_toml({"t": {"x": 1.5, "u": {"y": [1, 2]}}, "a": True})
        == "a = true\n\n[t]\nx = 1.5\n\n[t.u]\ny = [1, 2]\n"
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("iterations = 5\nbatch = = 3\n", r"is not TOML: .*line 2"),
        ("iterations = 5\niterations = 6\n", r"is not TOML: .*line 2"),
        ("\udcff", "is not TOML"),
    ],
)
def test_bad_toml_is_told_with_its_line(text: str, sentence: str, tmp_path: Path) -> None:
    """In one sentence, from `find_recipe` too."""
    path = tmp_path / "bad.toml"
    path.write_bytes(text.encode(errors="surrogateescape"))
    for read in (read_toml, lambda path: find_recipe(str(path))):
        with pytest.raises(UserError, match=sentence):
            read(path)


def test_an_absent_file_is_told(tmp_path: Path) -> None:
    """With its name."""
    with pytest.raises(UserError, match=r"cannot read .*none\.toml: No such file"):
        read_toml(tmp_path / "none.toml")


def test_nothing_that_a_terminal_obeys_is_written() -> None:
    """As escapes, which are read back as what they were: a trial is printed, and kept as a file."""
    data = {"name\x9b": "\x1b[31m\x7f\x85\u202eé\u2066"}
    text = write_toml(data)
    assert text.replace("\n", "").isprintable() and "é" in text
    assert tomllib.loads(text) == data
