"""What is printed of an evaluation of detections."""

from __future__ import annotations

from typing import Any

from reslab.tasks.detection.printed import MOST_ROWS, PrintedDetections
from reslab.tasks.detection.scores import SCORES

PRINTED = PrintedDetections(SCORES)


def found(count: int) -> dict[str, Any]:
    """Return an evaluation of so many classes, the last without objects; none is small."""
    names = [f"class {number}" for number in range(count)]
    precisions = {name: None if name == names[-1] else 100.0 - number for number, name in enumerate(names)}
    values = {score.name: 50.0 + place for place, score in enumerate(SCORES)}
    return values | {
        "map_small_percent": None,
        "map50_interval_percent": [48.0, 52.25],
        "map50_95_interval_percent": [49.0, 53.0],
        "class_ap50_percent": precisions,
        "class_ap_percent": precisions,
        "class_objects": {name: number for number, name in enumerate(names)},
    }


def test_the_paper_s_numbers_come_first() -> None:
    """With the sizes that there are, and how sure they are."""
    assert PRINTED.sentences(found(3)) == [
        "mAP@.5 50.00 %, mAP@[.5,.95] 51.00 %, mAP@.75 52.00 %, mAP (medium) 56.00 %, mAP (large) 57.00 %, "
        "mAP@.5 by 11 points 53.00 %",
        "95 % intervals over the images: mAP@.5 48.00 to 52.25 %, mAP@[.5,.95] 49.00 to 53.00 %",
    ]
    headings = [score.heading for score in PRINTED.columns(found(3))]
    assert headings == ["mAP@.5 %", "mAP@[.5,.95] %", "mAP@.75 %", "mAP (medium) %", "mAP (large) %"]


def test_classes_with_objects_are_told() -> None:
    """All of them, or the worst of many."""
    table = PRINTED.table(found(3))
    assert table.rows == (("class 0", "0", "100.00", "100.00"), ("class 1", "1", "99.00", "99.00"))
    many = PRINTED.table(found(MOST_ROWS + 3))
    assert many.title == f"The {MOST_ROWS} worst of {MOST_ROWS + 2} classes (--json has all)"
    assert many.rows[0][0] == f"class {MOST_ROWS + 1}"
