"""The three rules of average precision against what defines them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reslab.tasks.detection.precision import average, draw_curve, reach

MATLABS = [0, 0.1, 0.2, 3 * 0.1, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]  # 0:0.1:1, counted from both ends
Verdicts = st.lists(st.booleans(), max_size=40)


def curve(verdicts: list[bool], objects: int) -> tuple[np.ndarray, np.ndarray]:
    """Recall and precision at every detection."""
    right = np.cumsum(verdicts) if verdicts else np.zeros(0)
    return right / objects, right / np.arange(1, len(verdicts) + 1)


def by_points(verdicts: list[bool], objects: int, points: int) -> float:
    """The greatest precision at each recall or a higher one, in the mean."""
    recall, precision = curve(verdicts, objects)
    steps = MATLABS if points == 11 else np.linspace(0, 1, points)
    return sum(max(precision[recall >= step], default=0) for step in steps) / points


def by_area(verdicts: list[bool], objects: int) -> float:
    """VOCap of the devkit, in its words."""
    recall, precision = curve(verdicts, objects)
    mrec, mpre = np.concatenate([[0], recall, [1]]), np.concatenate([[0], precision, [0]])
    for i in range(len(mpre) - 2, -1, -1):
        mpre[i] = max(mpre[i], mpre[i + 1])
    (risen,) = np.nonzero(mrec[1:] != mrec[:-1])
    return float(np.sum((mrec[risen + 1] - mrec[risen]) * mpre[risen + 1]))


def count(verdicts: list[bool]) -> tuple[np.ndarray, np.ndarray]:
    places = np.flatnonzero(verdicts)
    return np.arange(1.0, len(places) + 1), places + 1.0


@given(Verdicts, st.sampled_from([0, 1, 2, 4, 9]))
def test_every_rule_is_its_definition(verdicts: list[bool], missed: int) -> None:
    """Whatever is right, recalls that are tenths included."""
    objects = sum(verdicts) + missed
    if not objects:
        return
    found = count(verdicts)
    assert average(*found, objects, "area") == pytest.approx(by_area(verdicts, objects), abs=1e-12)
    assert average(*found, objects, "101 points") == pytest.approx(by_points(verdicts, objects, 101), abs=1e-12)
    assert average(*found, objects, "11 points") == pytest.approx(by_points(verdicts, objects, 11), abs=1e-12)
    steps = [
        max(curve(verdicts, objects)[1][curve(verdicts, objects)[0] >= one], default=0)
        for one in np.linspace(0, 1, 101)
    ]
    assert draw_curve(*found, objects).tolist() == pytest.approx(steps)


def test_an_example_by_hand() -> None:
    """Five objects; right, wrong, right, right, wrong: 1 at recall .2, 3/4 at .4 and .6, none after."""
    found = count([True, False, True, True, False])
    assert average(*found, 5, "area") == pytest.approx(0.2 * 1 + 0.4 * 0.75)
    assert average(*found, 5, "11 points") == pytest.approx((3 * 1 + 4 * 0.75) / 11)
    assert average(*found, 5, "101 points") == pytest.approx((21 * 1 + 40 * 0.75) / 101)


def test_three_of_ten_do_not_reach_three_tenths() -> None:
    """In the devkit, whose 0:0.1:1 has 3 * 0.1 there; all other tenths are reached."""
    reached = [float(reach(np.array([found]), 10, "11 points")[0] * 11) for found in range(11)]
    assert reached == pytest.approx([0, 2, 3, 3, 5, 6, 7, 8, 9, 10, 11])


def test_the_whole_and_nothing() -> None:
    """All found without a mistake is 1, nothing found is 0."""
    for rule in ("area", "11 points", "101 points"):
        assert average(*count([True] * 7), 7, rule) == pytest.approx(1)
        assert average(*count([False] * 3), 7, rule) == 0
        assert average(*count([]), 7, rule) == 0
