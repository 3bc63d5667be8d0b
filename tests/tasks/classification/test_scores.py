"""Which scores of a classification say something."""

from __future__ import annotations

import pytest

from reslab.tasks.classification.scores import TOP5_ERROR, list_void


@pytest.mark.parametrize(("num_classes", "void"), [(2, True), (5, True), (6, False), (1000, False), (0, False)])
def test_five_guesses_say_nothing_of_five_classes(num_classes: int, void: bool) -> None:
    """They cannot all be wrong; early results do not say how many classes there were."""
    assert list_void(num_classes) == ((TOP5_ERROR,) if void else ())
