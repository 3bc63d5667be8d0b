"""What pages show of detections, and what their precisions come to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import reslab
from reslab.errors import UserError
from reslab.tasks.detection.panel import DetectionPanel

RESULT: dict[str, Any] = {
    "class_names": ["dog", "cat", "bird"],
    "class_objects": [2, 3, 0],
    "class_ap50_percent": [50.0, 100.0, None],
    "class_ap_percent": [25.0, 45.0, None],
    "precision_recall": [[1.0, 0.5, 0.0], [1.0, 1.0, 1.0], None],
    "map50_interval_percent": [70.0, 80.5],
    "map50_95_interval_percent": [30.0, 40.0],
    "map_small_percent": None,
    "map_medium_percent": 35.0,
    "map_large_percent": 40.0,
    "recall_small_percent": None,
    "recall_medium_percent": 50.0,
    "recall_large_percent": 60.0,
}


def test_the_means_follow_from_the_classes() -> None:
    """One without objects is left out."""
    panel = DetectionPanel.read(RESULT)
    assert panel.num_classes == 3
    values = {"map50_percent": 70.0, "map50_95_percent": 35.0}
    assert list(panel.recount(values)) == [("map50_percent", 70.0, 75.0), ("map50_95_percent", 35.0, 35.0)]
    assert list(panel.recount({})) == []


def test_a_page_has_classes_and_sizes() -> None:
    """A row for each, the curves beside the classes, and how sure the means are."""
    classes, sizes = DetectionPanel.read(RESULT).sections()
    rows = {name: [cell.written for cell in cells] for name, cells in classes.rows}
    assert rows == {"dog": ["2", "50.00", "25.00"], "cat": ["3", "100.00", "45.00"], "bird": ["0", "", ""]}
    assert "mAP@.5 70.00 to 80.50 %, mAP@[.5,.95] 30.00 to 40.00 %." in classes.note
    rows = {name: [cell.written for cell in cells] for name, cells in sizes.rows}
    assert rows == {"small": ["", ""], "medium": ["35.00", "50.00"], "large": ["40.00", "60.00"]}
    (plot,) = classes.plots
    assert f"    {plot.kind}: (plot" in (Path(reslab.__file__).parent / "report" / "assets" / "charts.js").read_text()
    assert plot.content == {
        "mean": [1, 0.75, 0.5],
        "lines": [{"name": "dog", "precision": [1, 0.5, None]}, {"name": "cat", "precision": [1, 1, 1]}],
    }


def test_what_is_not_there_is_not_shown() -> None:
    """A result may have nothing but scores, or no class with objects."""
    assert DetectionPanel.read({}).sections() == ()
    few = {name: RESULT[name] for name in ("class_objects", "class_ap50_percent", "class_ap_percent")}
    (classes,) = DetectionPanel.read({**few, "precision_recall": [None] * 3}).sections()
    assert (classes.plots, [name for name, _ in classes.rows]) == ((), ["0", "1", "2"])
    assert "interval" not in classes.note


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"class_objects": [1]}, "different numbers of classes"),
        ({"precision_recall": [[1.0], [1.0, 0.5], None]}, "different numbers of points"),
        ({"class_ap_percent": ["high"] * 3}, "class_ap_percent"),
        ({"precision_recall": [1.0, 1.0, None]}, "precision_recall"),
        ({"map50_interval_percent": "wide"}, "map50_interval_percent"),
        ({"map_large_percent": []}, "map_large_percent"),
    ],
)
def test_contradictions_are_refused(change: dict[str, Any], sentence: str) -> None:
    """With what is wrong."""
    with pytest.raises(UserError, match=sentence):
        DetectionPanel.read({**RESULT, **change})
