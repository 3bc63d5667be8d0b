"""Tasks are found by the name that trials and networks have."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from reslab.errors import UserError
from reslab.spec.task import TASKS
from reslab.tasks.catalogue import find_shown, list_shown


@pytest.mark.parametrize("name", TASKS)
def test_a_task_goes_by_its_name(name: str) -> None:
    """As a word, which networks have, or as a spec, which trials have."""
    for task in (name, TASKS[name]()):
        assert find_shown(SimpleNamespace(task=task)) is list_shown()[name]


def test_an_unknown_task_is_told() -> None:
    """With those there are."""
    with pytest.raises(UserError, match="task is 'turning'; choose classification, multi-label or detection"):
        find_shown(SimpleNamespace(task="turning"))


@pytest.mark.parametrize("name", TASKS)
def test_the_headline_score_is_listed_and_logged(name: str) -> None:
    """Curves and lists go by it."""
    headline, *others = list_shown()[name].scores
    assert ("test" in headline.logged, headline.shown) == (True, "lists")
    assert len({score.name for score in (headline, *others)}) == len(others) + 1
