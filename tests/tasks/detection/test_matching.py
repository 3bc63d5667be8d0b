"""Matching against slow loops, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from tests.detections import WITH_DIFFICULT, make_image, make_tested, small_tests

from reslab.spec.boxes import CROWD, DIFFICULT, PLAIN
from reslab.tasks.detection import matching
from reslab.tasks.detection.matching import NEITHER, RIGHT, WRONG, judge_coco, judge_voc, measure_overlap
from reslab.tasks.detection.rows import ImageSet


def overlap_by_pixels(one: np.ndarray, other: np.ndarray) -> float:
    """VOC's: whole pixels counted inclusive, from 1."""
    first, second = (np.add(box, [1, 1, 0, 0]) for box in (one, other))
    shared = [min(first[side + 2], second[side + 2]) - max(first[side], second[side]) + 1 for side in (0, 1)]
    if min(shared) <= 0:
        return 0.0

    def area(box: np.ndarray) -> float:
        return (box[2] - box[0] + 1) * (box[3] - box[1] + 1)

    inside = shared[0] * shared[1]
    return inside / (area(first) + area(second) - inside)


def judge_slowly(tested: ImageSet, threshold: float) -> list[int]:
    """The devkit's loop, in its words."""
    objects, detections = tested.objects, tested.detections
    verdicts, taken = [WRONG] * len(detections.score), set()
    for which in np.argsort(-detections.score, kind="stable"):
        most, nearest = -np.inf, -1
        for number in range(len(objects.mark)):
            if (objects.image[number], objects.label[number]) == (detections.image[which], detections.label[which]):
                overlap = overlap_by_pixels(detections.box[which], objects.box[number])
                if overlap > most:
                    most, nearest = overlap, number
        if most < threshold:
            continue
        if objects.mark[nearest] != PLAIN:
            verdicts[which] = NEITHER
        elif nearest not in taken:
            verdicts[which] = RIGHT
            taken.add(nearest)
    return verdicts


@given(small_tests())
def test_voc_is_the_devkits_loop(tested: ImageSet) -> None:
    """Whatever ties there are; edges make the same of boxes as pixels that are counted inclusive."""
    for threshold in (0.5, 0.8):
        assert judge_voc(tested, threshold).tolist() == judge_slowly(tested, threshold)


def test_pairs_may_be_looked_at_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where many boxes would not fit into memory."""
    tested = make_tested(1, images=2, objects=60, detections=300, marks=WITH_DIFFICULT)
    whole = judge_voc(tested)
    monkeypatch.setattr(matching, "MOST_PAIRS", 5)
    assert np.array_equal(judge_voc(tested), whole)
    assert set(whole.tolist()) == {WRONG, RIGHT, NEITHER}


BOX = (0, 0, 10, 10)


def test_an_object_is_found_once() -> None:
    """By the highest score, whatever the order; of equal ones by the first."""
    assert judge_voc(make_image([(BOX, PLAIN)], [(BOX, 0.5), (BOX, 0.9)])).tolist() == [WRONG, RIGHT]
    assert judge_voc(make_image([(BOX, PLAIN)], [(BOX, 0.9), (BOX, 0.9)])).tolist() == [RIGHT, WRONG]
    verdict, _ = judge_coco(make_image([(BOX, PLAIN)], [(BOX, 0.5), (BOX, 0.9)]))
    assert verdict[0, 0].tolist() == [WRONG, RIGHT]


def test_difficult_objects_and_crowds_take_any_number() -> None:
    """VOC's difficult ones; crowds, by the share of the detection that lies in it, if no object is near."""
    twice = [(BOX, 0.9), (BOX, 0.8)]
    assert judge_voc(make_image([(BOX, DIFFICULT)], twice)).tolist() == [NEITHER, NEITHER]
    crowd = make_image([((0, 0, 100, 100), CROWD)], twice)
    assert judge_coco(crowd)[0][0, 9].tolist() == [NEITHER, NEITHER]
    assert judge_voc(crowd).tolist() == [NEITHER, NEITHER]
    assert judge_voc(make_image([((0, 0, 100, 100), CROWD), ((0, 0, 10, 12), PLAIN)], twice)).tolist() == [RIGHT, WRONG]


def test_of_equal_overlaps_voc_takes_the_first_and_coco_the_last() -> None:
    """Which shows by whether the other object is still there to be found."""
    first, last, between = (0, 0, 10, 10), (4, 0, 14, 10), (2, 0, 12, 10)
    for box, voc, coco in ((first, WRONG, RIGHT), (last, RIGHT, WRONG)):
        tested = make_image([(first, PLAIN), (last, PLAIN)], [(between, 0.9), (box, 0.8)])
        assert judge_voc(tested).tolist() == [RIGHT, voc]
        assert judge_coco(tested)[0][0, 0].tolist() == [RIGHT, coco]


def test_second_best_is_coco_s_alone() -> None:
    """VOC looks at the nearest object, found or not; COCO at the nearest that is free."""
    near, far = (0, 0, 10, 10), (0, 0, 10, 12)
    tested = make_image([(near, PLAIN), (far, PLAIN)], [(near, 0.9), (near, 0.8)])
    assert judge_voc(tested).tolist() == [RIGHT, WRONG]
    assert judge_coco(tested)[0][0, 0].tolist() == [RIGHT, RIGHT]


def test_sizes_ask_for_objects_and_for_what_matches_nothing() -> None:
    """A large detection of a large object is neither right nor wrong among small ones; nor is a large stray one."""
    large, small = (0, 0, 100, 100), (150, 150, 160, 160)
    tested = make_image([(large, PLAIN)], [(large, 0.9), (small, 0.8), ((100, 0, 200, 100), 0.7)])
    verdict, place = judge_coco(tested)
    assert verdict[:, 0].tolist() == [
        [RIGHT, WRONG, WRONG],
        [NEITHER, WRONG, NEITHER],
        [NEITHER, NEITHER, NEITHER],
        [RIGHT, NEITHER, WRONG],
    ]
    assert place.tolist() == [0, 1, 2]


def test_overlaps_by_hand() -> None:
    """Half of each is a third of both; boxes that touch, or are lines, share nothing."""
    one = np.array([[0, 0, 10, 10]] * 4, float)
    other = np.array([[5, 0, 15, 10], [10, 0, 20, 10], [5, 5, 5, 9], [5, 0, 15, 10]], float)
    found = measure_overlap(one, other, np.array([False, False, False, True]))
    assert found.tolist() == [pytest.approx(1 / 3), 0, 0, 0.5]
