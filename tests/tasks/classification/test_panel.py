"""What pages show of classes, and what a confusion matrix comes to."""

from __future__ import annotations

from typing import Any

import pytest

from reslab.errors import UserError
from reslab.tasks.classification.panel import MOST_CLASSES, ClassPanel

RESULT: dict[str, Any] = {
    "class_names": ["ant", "bee", "cat"],
    "confusion": [[8, 2, 0], [1, 9, 0], [0, 0, 0]],
    "class_error_percent": [20.0, 10.0, None],
}


def test_errors_follow_from_the_confusion() -> None:
    """Of all images, of each class that has any, and their mean where that was written down."""
    panel = ClassPanel.read(RESULT)
    assert panel.num_classes == 3
    values = {"test_error_percent": 15.0, "balanced_error_percent": 15.0}
    assert list(panel.recount(values)) == [
        ("test_error_percent", 15.0, pytest.approx(15.0)),
        ("class_error_percent of ant", 20.0, pytest.approx(20.0)),
        ("class_error_percent of bee", 10.0, pytest.approx(10.0)),
        ("balanced_error_percent", 15.0, pytest.approx(15.0)),
    ]


def test_a_page_has_the_matrix_beside_the_errors() -> None:
    """With what is confused most often; bars are parts of the largest error."""
    (section,) = ClassPanel.read(RESULT).sections()
    (plot,) = section.plots
    assert plot.content["counts"] == ((8, 2, 0), (1, 9, 0), (0, 0, 0))
    assert plot.note.endswith("Most often: ant taken for bee (2), bee taken for ant (1).")
    rows = {name: [(cell.written, cell.largest) for cell in cells] for name, cells in section.rows}
    assert rows == {
        "ant": [("10", None), ("20.00", 20.0)],
        "bee": [("10", None), ("10.00", 20.0)],
        "cat": [("0", None), ("", 20.0)],
    }


def test_an_early_result_has_numbers_for_names_and_zero_for_no_image() -> None:
    """The zero is no error."""
    panel = ClassPanel.read({**RESULT, "class_names": [], "class_error_percent": [20.0, 10.0, 0.0]})
    assert panel.classes == ("0", "1", "2")
    assert panel.class_errors == (20.0, 10.0, None)


def test_networks_stand_beside_each_other() -> None:
    """Means over seeds, of those that have the classes of the first."""
    other = ClassPanel.read({**RESULT, "confusion": [[10, 0, 0], [1, 9, 0], [0, 0, 0]]})
    seeds = [ClassPanel.read(RESULT), ClassPanel.read({**RESULT, "class_error_percent": [40.0, 10.0, None]})]
    strange = ClassPanel.read({**RESULT, "class_names": ["x", "y", "z"]})
    (plot,) = ClassPanel.compare([("one", seeds), ("other", [other]), ("strange", [strange])], key="k")
    assert plot.content["rows"] == ["one", "other"]
    assert plot.content["errors"][0] == [30.0, 10.0, None]


def test_too_many_classes_give_no_picture() -> None:
    """The table stays."""
    count = MOST_CLASSES + 1
    confusion = [[int(row == column) for column in range(count)] for row in range(count)]
    panel = ClassPanel.read({"confusion": confusion, "class_error_percent": [0.0] * count})
    (section,) = panel.sections()
    assert (section.plots, len(section.rows)) == ((), count)
    assert ClassPanel.compare([("one", [panel])], key="k") == []


def test_errors_of_other_classes_are_refused() -> None:
    """There must be as many as rows."""
    with pytest.raises(UserError, match="different numbers of classes"):
        ClassPanel.read({**RESULT, "class_error_percent": [20.0]})
    assert ClassPanel.read({}).sections() == ()
