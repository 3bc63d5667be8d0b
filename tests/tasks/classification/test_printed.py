"""What is printed of an evaluation of classes."""

from __future__ import annotations

from typing import Any

from reslab.tasks.classification.printed import MOST_COLUMNS, WORST, PrintedClasses
from reslab.tasks.classification.scores import SCORES

PRINTED = PrintedClasses(SCORES)


def found(count: int, **changes: Any) -> dict[str, Any]:
    """Return an evaluation of so many classes, of ten images each, of which one more is wrong in each class."""
    confusion = [[max(0, 10 - truth) if guess == truth else 0 for guess in range(count)] for truth in range(count)]
    for truth in range(count):
        confusion[truth][(truth + 1) % count] += min(10, truth)
    return {
        "error_percent": 12.5,
        "top5_error_percent": 1.0,
        "balanced_error_percent": None,
        "mean_confidence_percent": 80.0,
        "ece_percent": 2.0,
        "loss": 0.5,
        "class_error_percent": {f"class {truth}": min(100.0, 10.0 * truth) for truth in range(count)},
        "confusion": confusion,
        **changes,
    }


def test_five_guesses_are_told_where_they_can_be_wrong() -> None:
    """And the balanced error where it is another."""
    assert PRINTED.sentences(found(3))[0] == "error 12.50 %"
    assert PRINTED.sentences(found(6, balanced_error_percent=9.0)) == [
        "error 12.50 %, top-5 error 1.00 %, balanced error 9.00 % (the mean of the class errors)",
        "mean confidence 80.00 %, expected calibration error 2.00 %, negative log-likelihood 0.5000",
    ]
    headings = [score.heading for score in PRINTED.columns(found(6))]
    assert headings == ["error %", "top-5 error %", "mean confidence %", "ECE %", "NLL"]


def test_few_classes_have_their_confusion() -> None:
    """A class without images has no error."""
    table = PRINTED.table(found(3, class_error_percent={"a": 0.0, "b": 10.0, "c": None}))
    assert table.headings == ("class", "error %", "a", "b", "c")
    assert table.rows[:2] == (("a", "0.00", "10", "·", "·"), ("b", "10.00", "·", "9", "1"))
    assert table.rows[2][1] == ""


def test_of_many_classes_the_worst_are_told() -> None:
    """With what each is taken for most often."""
    count = MOST_COLUMNS + 1
    table = PRINTED.table(found(count))
    assert table.title == f"The {WORST} worst of {count} classes (--json has all)"
    assert len(table.rows) == WORST
    assert table.rows[0] == ("class 10", "100.00", "class 11 (10)")
