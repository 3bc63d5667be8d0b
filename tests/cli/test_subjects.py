"""Words become subjects and fields."""

from __future__ import annotations

import pytest

from reslab.cli.subjects import read_spec, split_words, take_count
from reslab.errors import UserError
from reslab.spec import find


def test_words_are_split() -> None:
    """A word with an equals sign is a field; its value may have more of them."""
    assert split_words(["resnet-50", "a=1", "b.c=x=y"]) == (["resnet-50"], {"a": "1", "b.c": "x=y"})
    assert split_words(["resnet-34 shortcut=C", 'stages=[{"width": 3}]']) == (
        ["resnet-34 shortcut=C"],
        {"stages": '[{"width": 3}]'},
    )


def test_quoted_names_bring_their_fields() -> None:
    """Their own fields win over those for all."""
    assert read_spec("resnet-34 shortcut=C", {"shortcut": "B"}) == find("resnet-34", {"shortcut": "C"})


def test_counts_are_positive() -> None:
    """And are taken out of the fields."""
    fields = {"batch": "8"}
    assert take_count(fields, "batch", 1) == 8
    assert fields == {}
    for text in ("0", "-1", "2.5", "x"):
        with pytest.raises(UserError, match="batch"):
            take_count({"batch": text}, "batch", 1)
