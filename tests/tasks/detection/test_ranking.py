"""Detections of a class in the order they are looked at."""

from __future__ import annotations

import numpy as np
from tests.detections import make_tested

from reslab.tasks.detection.matching import NEITHER, RIGHT, WRONG, judge_voc
from reslab.tasks.detection.ranking import count_verdicts, rank_classes, sort_classes


def test_classes_are_ranked_by_score_then_by_image() -> None:
    """Each detection once; equal scores stay in order."""
    tested = make_tested(0, classes=5)
    scores, places = tested.detections.score, sort_classes(tested)
    assert sorted(np.concatenate(places).tolist()) == list(range(len(scores)))
    for label, which in enumerate(places):
        assert set(tested.detections.label[which].tolist()) <= {label}
        assert which.tolist() == sorted(which.tolist(), key=lambda one: (-scores[one], one))


def test_a_ranking_has_its_verdicts_and_what_was_sought() -> None:
    """Plain objects alone are missed."""
    tested = make_tested(0)
    rankings = rank_classes(tested, judge_voc(tested)[None])
    assert sum(len(one.image) for one in rankings) == len(tested.detections.score)
    plain = tested.objects.plain
    for label, ranking in enumerate(rankings):
        found, told, objects = ranking.count()
        assert objects == (plain & (tested.objects.label == label)).sum()
        assert len(found) == (ranking.verdict[0] == RIGHT).sum()
        assert (told >= found).all()


def test_what_is_neither_does_not_count() -> None:
    """As if it were not there."""
    verdict = np.array([NEITHER, RIGHT, WRONG, NEITHER, RIGHT, WRONG], np.int8)
    found, told = count_verdicts(verdict)
    assert (found.tolist(), told.tolist()) == ([1, 2], [1, 3])
