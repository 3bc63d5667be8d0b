"""How things look on a terminal."""

from __future__ import annotations

import json
import math

import pytest

from reslab.cli.show import print_json, shape


def test_shapes() -> None:
    """Without the batch."""
    assert shape((8, 64, 56, 56)) == "64x56x56"


def test_json_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    """For readers in any language: no NaN, and nothing that a terminal would take for a command."""
    print_json({"loss": math.nan, "name": "a\x1b[31m\x7f\x9b\u202eé"})
    printed = capsys.readouterr().out
    assert printed.isascii() and printed.replace("\n", "").isprintable()
    assert json.loads(printed, parse_constant=pytest.fail) == {"loss": None, "name": "a\x1b[31m\x7f\x9b\u202eé"}
