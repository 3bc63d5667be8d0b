"""VOC's mean average precision, by hand and against loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from tests.detections import small_tests

from reslab.spec.boxes import DIFFICULT, PLAIN
from reslab.tasks.detection.rows import Detections, ImageSet, Objects, measure_areas
from reslab.tasks.detection.voc_rules import VocPrecision, mean

# In VOC's pixels, counted from 1 and inclusive: two images, a dog and a difficult dog in the first, two dogs and a cat
# in the second. By falling score: right; right by an overlap of 80/120; of the difficult one, which does not count;
# a second one of the first dog, which is wrong; 50/100 of the fourth, just enough; a stray.
OBJECTS = [
    (0, (1, 1, 10, 10), "dog", PLAIN),
    (0, (50, 50, 69, 69), "dog", DIFFICULT),
    (1, (1, 1, 10, 10), "dog", PLAIN),
    (1, (101, 1, 110, 10), "dog", PLAIN),
    (1, (31, 31, 40, 40), "cat", PLAIN),
]
DETECTIONS = [
    (0, (1, 1, 10, 10), "dog", 0.9),
    (1, (1, 3, 10, 12), "dog", 0.8),
    (0, (51, 51, 69, 69), "dog", 0.7),
    (0, (1, 1, 10, 9), "dog", 0.6),
    (1, (101, 1, 110, 5), "dog", 0.5),
    (1, (200, 200, 220, 220), "dog", 0.4),
]
CLASSES = ("dog", "cat", "bird")


def as_edges(boxes: list[tuple[int, ...]]) -> np.ndarray:
    return np.array(boxes, float) - [1, 1, 0, 0]


def example() -> ImageSet:
    box = as_edges([box for _, box, _, _ in OBJECTS])
    return ImageSet.in_order(
        images=2,
        classes=3,
        objects=Objects(
            image=np.array([one[0] for one in OBJECTS]),
            box=box,
            label=np.array([CLASSES.index(one[2]) for one in OBJECTS]),
            mark=np.array([one[3] for one in OBJECTS]),
            area=measure_areas(box),
        ),
        detections=Detections(
            image=np.array([one[0] for one in DETECTIONS]),
            box=as_edges([one[1] for one in DETECTIONS]),
            label=np.array([CLASSES.index(one[2]) for one in DETECTIONS]),
            score=np.array([one[3] for one in DETECTIONS]),
        ),
    )


def test_the_devkits_example_by_hand() -> None:
    """Three dogs are sought; right, right, wrong, right: precision 1, 1, 3/4. No cat is found, there is no bird."""
    found = VocPrecision.measure(example())
    assert found.area == (pytest.approx((1 + 1 + 0.75) / 3), 0, None)
    assert found.eleven == (pytest.approx((7 * 1 + 4 * 0.75) / 11), 0, None)
    assert mean(found.area) == pytest.approx(2.75 / 6)
    dog, cat, bird = found.curves
    assert dog is not None and cat is not None and bird is None
    assert (dog[0], dog[66], dog[67], dog[100], cat.sum()) == (1, 1, 0.75, 0.75, 0)


@given(small_tests())
def test_more_found_is_never_worse(tested: ImageSet) -> None:
    """Classes without objects say nothing; the others are from 0 to 1, and what is taken out of the last is no gain."""
    found = VocPrecision.measure(tested)
    counts = np.bincount(tested.objects.label[tested.objects.plain], minlength=tested.classes)
    assert [one is None for one in found.area] == (counts == 0).tolist()
    assert all(0 <= one <= 1 + 1e-12 for one in (*found.area, *found.eleven) if one is not None)
    assert (mean(found.area) is None) == (not counts.any())
