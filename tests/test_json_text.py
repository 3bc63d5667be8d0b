"""JSON as other languages read it."""

from __future__ import annotations

import ast
import json
import math
from pathlib import Path

import numpy as np
import pytest

import reslab
from reslab.json_text import to_json

SOURCE = Path(reslab.__file__).parent
# Ids and names are made of its text, a digest is over it, or it is no JSON that others read: a box of NaN
# has to be told as NaN when what was kept of it is read again.
OWN = {
    "data/objects/kept_files.py",
    "json_text.py",
    "runtime/sealed.py",
    "spec/catalogue.py",
    "spec/toml.py",
    "spec/trial.py",
}


def refuse(constant: str) -> None:
    raise AssertionError(constant)


def test_numbers_that_are_not_finite_are_null() -> None:
    """At any depth, whatever library they are of; all else is as Python writes it."""
    data = {"b": [1.5, math.nan, (math.inf, {"x": -math.inf})], "a": np.float64("nan"), "ü": True, "n": None, 3: 1e-300}
    told = json.loads(to_json(data), parse_constant=refuse)
    assert told == {"b": [1.5, None, [None, {"x": None}]], "a": None, "ü": True, "n": None, "3": 1e-300}
    assert list(told) == ["b", "a", "ü", "n", "3"]
    assert to_json({"n": np.float32("nan")}, default=lambda value: value.item()) == '{"n": null}'


def test_finite_data_is_the_same_text() -> None:
    """With any option: records and digests are made of it."""
    data = {"b": [0.1 + 0.2, 1, None, "é\x1b\x9b"], "a": {"deep": True}}
    for options in ({}, {"indent": 2}, {"sort_keys": True}, {"separators": (",", ":")}, {"ensure_ascii": False}):
        assert to_json(data, **options) == json.dumps(data, **options)


def test_what_is_no_plain_data_stays_an_error() -> None:
    """A value that JSON has no kind for, and a circle."""
    circle: list[object] = []
    circle.append(circle)
    with pytest.raises(TypeError):
        to_json({"path": Path()})
    with pytest.raises(ValueError, match="Circular"):
        to_json(circle)


def test_nobody_else_writes_json() -> None:
    """`json.dumps` and `json.dump` write NaN: only those that must have their own text call them."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr in ("dumps", "dump") and ast.unparse(node.value) == "json":
                found.add(path.relative_to(SOURCE).as_posix())
    assert found == OWN
