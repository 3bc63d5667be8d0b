"""What is printed of an evaluation of labels."""

from __future__ import annotations

from typing import Any

from reslab.tasks.multilabel.printed import MOST_ROWS, PrintedLabels
from reslab.tasks.multilabel.scores import SCORES

PRINTED = PrintedLabels(SCORES)


def found(count: int) -> dict[str, Any]:
    """Return an evaluation of so many labels, the last of which no image has."""
    names = [f"label {number}" for number in range(count)]
    precisions = {name: None if name == names[-1] else 100.0 - number for number, name in enumerate(names)}
    positives = {name: number for number, name in enumerate(names)}
    scores = {"map_percent": 75.0, "error_percent": 12.5, "loss": 0.25}
    return scores | {"class_average_precision_percent": precisions, "class_positives": positives}


def test_precision_comes_first() -> None:
    """In the sentence and in the table of several networks."""
    assert PRINTED.sentences(found(3)) == [
        "mAP 75.00 %, any label wrong for 12.50 % of the images, cross-entropy 0.2500"
    ]
    headings = [score.heading for score in PRINTED.columns(found(3))]
    assert headings == ["mAP %", "any label wrong %", "cross-entropy"]


def test_labels_that_images_have_are_told() -> None:
    """All of them, or the worst of many."""
    table = PRINTED.table(found(3))
    assert (table.title, table.rows) == ("", (("label 0", "0", "100.00"), ("label 1", "1", "99.00")))
    many = PRINTED.table(found(MOST_ROWS + 3))
    assert many.title == f"The {MOST_ROWS} worst of {MOST_ROWS + 2} classes (--json has all)"
    assert many.rows[0][0] == f"label {MOST_ROWS + 1}"
