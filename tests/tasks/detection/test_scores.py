"""What detectors are scored by."""

from __future__ import annotations

from reslab.tasks.detection.scores import COCO, INTERVALS, LARGE, MAP50, RECALLS, SCORES, SIZES


def test_the_headline_is_the_paper_s() -> None:
    """mAP@.5; more is better of all, and each name is there once."""
    assert SCORES[0] is MAP50
    assert {score.better for score in SCORES} == {"higher"}
    names = [score.name for score in SCORES] + [*INTERVALS.values(), *LARGE]
    assert len(set(names)) == len(names)
    assert "loss" not in names


def test_coco_s_twelve_are_scores() -> None:
    """Each under COCO's name; sizes are its s, m and l."""
    assert len(set(COCO.values())) == 12
    assert set(COCO.values()) <= set(SCORES)
    for letter, (size, precision, recall) in zip("sml", SIZES, strict=True):
        assert (COCO[f"AP{letter}"], COCO[f"AR{letter}"]) == (precision, recall)
        assert size in precision.words and size in recall.words
    assert set(RECALLS) < set(SCORES)
