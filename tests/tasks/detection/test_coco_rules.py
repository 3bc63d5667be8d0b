"""COCO's numbers are those of pycocotools and of faster-coco-eval."""

from __future__ import annotations

import contextlib
import io
import logging
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from tests.detections import make_image, make_tested, small_tests

from reslab.spec.boxes import CROWD, DIFFICULT, PLAIN
from reslab.tasks.detection import matching
from reslab.tasks.detection.coco_rules import CocoPrecision
from reslab.tasks.detection.rows import ImageSet, take


def describe(tested: ImageSet) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return annotations and results as COCO writes them down; ids from 1."""
    objects, detections = tested.objects, tested.detections

    def size(box: Any) -> list[float]:
        return [box[0], box[1], box[2] - box[0], box[3] - box[1]]

    annotations = [
        {
            "id": number + 1,
            "image_id": int(objects.image[number]) + 1,
            "category_id": int(objects.label[number]) + 1,
            "bbox": size(objects.box[number].tolist()),
            "area": float(objects.area[number]),
            "iscrowd": int(objects.mark[number] == CROWD),
        }
        for number in range(len(objects.mark))
    ]
    results = [
        {
            "image_id": int(detections.image[number]) + 1,
            "category_id": int(detections.label[number]) + 1,
            "bbox": size(detections.box[number].tolist()),
            "score": float(detections.score[number]),
        }
        for number in range(len(detections.score))
    ]
    truth = {
        "info": {},
        "images": [{"id": image + 1} for image in range(tested.images)],
        "categories": [{"id": label + 1, "name": str(label)} for label in range(tested.classes)],
        "annotations": annotations,
    }
    return truth, results


def ask_pycocotools(tested: ImageSet) -> Any:
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    truth, results = describe(tested)
    with contextlib.redirect_stdout(io.StringIO()):
        data: Any = COCO()
        data.dataset = truth
        data.createIndex()
        judge = COCOeval(data, data.loadRes(results), "bbox")
        judge.evaluate()
        judge.accumulate()
        judge.summarize()
    return judge


def ask_faster(tested: ImageSet) -> Any:
    from faster_coco_eval import COCO, COCOeval_faster

    logging.getLogger("faster_coco_eval").setLevel(logging.ERROR)
    truth, results = describe(tested)
    with contextlib.redirect_stdout(io.StringIO()):
        data = COCO(truth)
        judge = COCOeval_faster(data, data.loadRes(results), "bbox")
        judge.run()
    return judge


SETS = {
    "usual": {},
    "many classes": {"classes": 12, "objects": 120, "detections": 400},
    "one image of many": {"images": 1, "classes": 1, "objects": 30, "detections": 350, "levels": 7},
    "one score": {"levels": 1},
    "empty images": {"images": 60, "objects": 20},
    "crowds": {"marks": (PLAIN, CROWD), "images": 4},
    "nothing counts": {"marks": (CROWD,)},
}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", SETS)
def test_the_numbers_are_those_of_pycocotools(kind: str, seed: int) -> None:
    """The twelve, and precision and recall of every class, size and threshold, however ties fall."""
    tested = make_tested(seed, **SETS[kind])
    ours, theirs = CocoPrecision.measure(tested), ask_pycocotools(tested)
    numbers = [-1 if value is None else value for value in ours.numbers.values()]
    np.testing.assert_allclose(numbers, theirs.stats, rtol=0, atol=1e-9)
    precision = theirs.eval["precision"][..., 2].mean(1).transpose(2, 0, 1)
    np.testing.assert_allclose(np.nan_to_num(ours.precision, nan=-1), precision, rtol=0, atol=1e-9)
    recall = theirs.eval["recall"]
    np.testing.assert_allclose(np.nan_to_num(ours.recall, nan=-1), recall[..., 2].transpose(2, 0, 1), rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        np.nan_to_num(ours.recall_of_few, nan=-1), recall[:, :, 0].transpose(2, 0, 1), rtol=0, atol=1e-9
    )


@given(small_tests(marks=(PLAIN, PLAIN, CROWD)))
def test_few_objects_are_judged_as_by_pycocotools(tested: ImageSet) -> None:
    """Where every tie there can be comes up."""
    if not len(tested.detections.score):
        return
    numbers = [-1 if value is None else value for value in CocoPrecision.measure(tested).numbers.values()]
    np.testing.assert_allclose(numbers, ask_pycocotools(tested).stats, rtol=0, atol=1e-9)


@pytest.mark.parametrize("box", [(0, 0, 10, 10), (4, 0, 14, 10)])
def test_equal_overlaps_are_decided_as_by_pycocotools(box: tuple[float, ...]) -> None:
    """Which of two objects the first detection takes decides on the second."""
    pair = [((0, 0, 10, 10), PLAIN), ((4, 0, 14, 10), PLAIN)]
    tested = make_image(pair, [((2, 0, 12, 10), 0.9), (box, 0.8)])
    assert CocoPrecision.measure(tested).numbers["AP50"] == pytest.approx(ask_pycocotools(tested).stats[1], abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_numbers_are_those_of_faster_coco_eval(seed: int) -> None:
    """Which is another's program, in C++."""
    tested = make_tested(seed, images=20, classes=6, objects=100, detections=500)
    numbers = CocoPrecision.measure(tested).numbers
    assert list(numbers.values()) == pytest.approx(list(ask_faster(tested).stats[:12]), abs=1e-9)


def test_pairs_may_be_looked_at_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where many boxes would not fit into memory: what is found stays found."""
    tested = make_tested(1, images=3, objects=60, detections=300)
    whole, place = matching.judge_coco(tested)
    for most in (1, 7, 50):
        monkeypatch.setattr(matching, "MOST_PAIRS", most)
        parts, _ = matching.judge_coco(tested)
        assert np.array_equal(parts, whole)
    assert place.max() > 20


def test_a_class_without_objects_says_nothing() -> None:
    """Nor does a size without any; a class without detections has a precision of 0."""
    tested = make_tested(0, classes=3, detections=1)
    found = CocoPrecision.measure(tested)
    assert found.by_class[2] is None
    assert found.by_class[0] is not None
    nothing = CocoPrecision.measure(make_tested(0, objects=0))
    assert set(nothing.numbers.values()) == {None}


def test_difficult_objects_are_ignored_as_those_of_other_sizes_are() -> None:
    """Found once, they are neither right nor wrong: as if they were larger than anything that is asked for."""
    tested = make_tested(3, marks=(PLAIN, PLAIN, DIFFICULT), images=5)
    plain = tested.objects.plain
    huge = replace(tested.objects, mark=np.full(len(plain), PLAIN), area=np.where(plain, tested.objects.area, 1e11))
    found = CocoPrecision.measure(tested)
    assert found.numbers == CocoPrecision.measure(replace(tested, objects=huge)).numbers
    assert found.numbers != CocoPrecision.measure(replace(tested, objects=take(tested.objects, plain))).numbers
    assert sum(len(one.sought) for one in found.rankings) == plain.sum()
