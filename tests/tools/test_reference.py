"""The pages of docs/reference say what the program says."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

import pytest

from reslab.cli import app
from reslab.spec.recipe import RECIPES
from tools import reference


def test_the_pages_are_the_programs_own() -> None:
    """Word for word, as `make reference` writes them."""
    for path, text in reference.render().items():
        assert path.read_text(encoding="utf-8") == text, "run `make reference`"


def test_every_verb_has_an_example_that_is_understood() -> None:
    """The first thing below a verb's name is a command line that the program parses, with nothing escaped."""
    text = reference.write_verbs()
    examples = re.findall(r"^```console\n(reslab \S+ ?.*)\n```$", text, re.MULTILINE)
    commands = [shlex.split(line)[1:] for line in examples if "[" not in line]
    assert {words[0] for words in commands} == {verb for verb in app if verb[0] != "-"}
    for words in commands:
        app.parse_args(words, exit_on_error=False, print_error=False)
    assert "\\|" not in text


def test_a_field_without_a_meaning_is_refused() -> None:
    """So that nobody adds one and tells nobody."""

    @dataclass
    class Spec:
        """A spec.

        Fields:
            known: What it means.
        """

        known: int = 1
        unknown: int = 2

    with pytest.raises(ValueError, match="unknown"):
        reference.write_fields(Spec)


def test_every_preset_has_a_use() -> None:
    """A sentence each, and no sentence about one that is gone."""
    assert reference.USES.keys() == RECIPES.keys()
