"""What pages show of labels, and what their precisions come to."""

from __future__ import annotations

import pytest

from reslab.errors import UserError
from reslab.tasks.multilabel.panel import LabelPanel

RESULT = {
    "class_names": ["square", "disc", "bar"],
    "class_positives": [2, 3, 0],
    "class_average_precision_percent": [50.0, 100.0, None],
}


def test_the_mean_follows_from_the_labels() -> None:
    """One that no image has is left out."""
    panel = LabelPanel.read(RESULT)
    assert panel.num_classes == 3
    assert list(panel.recount({"map_percent": 70.0})) == [("map_percent", 70.0, 75.0)]
    assert list(panel.recount({})) == []


def test_a_page_has_a_row_for_each_label() -> None:
    """With how many images have it."""
    (section,) = LabelPanel.read(RESULT).sections()
    assert section.title == "Labels"
    rows = {name: [cell.written for cell in cells] for name, cells in section.rows}
    assert rows == {"square": ["2", "50.00"], "disc": ["3", "100.00"], "bar": ["0", ""]}
    assert LabelPanel.read({}).sections() == ()


def test_precisions_of_other_labels_are_refused() -> None:
    """There must be as many as labels."""
    with pytest.raises(UserError, match="different numbers of classes"):
        LabelPanel.read({**RESULT, "class_positives": [2, 3]})
