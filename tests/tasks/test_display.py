"""A task that says nothing of how it is shown is shown by its scores."""

from __future__ import annotations

from reslab.scores import Score
from reslab.tasks.display import Panel, Printed

ANGLE = Score(name="angle_degrees", words="angle", unit="°")
RIGHT = Score(name="right_percent", words="set right", better="higher")


def test_scores_are_printed_as_far_as_they_are_there() -> None:
    """In their order, in a sentence or as columns."""
    printed = Printed((ANGLE, RIGHT))
    assert printed.sentences({"angle_degrees": 3.25, "right_percent": 90.0}) == ["angle 3.25 °, set right 90.00 %"]
    assert printed.sentences({"angle_degrees": 3.25, "right_percent": None}) == ["angle 3.25 °"]
    assert printed.columns({"right_percent": 90.0}) == [RIGHT]
    assert printed.table({}) is None


def test_a_panel_shows_nothing_by_itself() -> None:
    """Nor does it contradict a result."""
    panel = Panel.read({"confusion": "none"})
    assert panel.num_classes is None
    assert (list(panel.recount({})), panel.sections(), Panel.compare([("a", [panel])], key="k")) == ([], (), [])
