"""Words become subjects and fields."""

from __future__ import annotations

from pathlib import Path

import pytest

from reslab.errors import UserError
from reslab.spec.words import split_subject, split_words


def test_words_are_split() -> None:
    """A word with an equals sign is a field; its value may have more of them."""
    assert split_words(["resnet-50", "a=1", "b.c=x=y"]) == (["resnet-50"], {"a": "1", "b.c": "x=y"})
    assert split_words(["resnet-34 shortcut=C", 'stages=[{"width": 3}]']) == (
        ["resnet-34 shortcut=C"],
        {"stages": '[{"width": 3}]'},
    )


def test_a_path_that_is_there_is_one_thing(tmp_path: Path) -> None:
    """A run's folder or a weight file, with spaces and an equals sign in it; one that is not there is words."""
    folder = tmp_path / "my runs" / "seed=1 again"
    folder.mkdir(parents=True)
    assert split_subject(str(folder)) == (str(folder), {})
    with pytest.raises(UserError, match="names two things"):
        split_subject("my runs")
