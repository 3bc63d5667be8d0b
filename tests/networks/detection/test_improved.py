"""The improvements together: without any it is the plain detector, and twins are one."""

from __future__ import annotations

import pytest
import torch
from tests.networks.detection.scenes import draw_scenes, make_detector

from reslab.networks.detection.improved import Improvements, detect
from reslab.spec.boxes import ABSENT, FOUND


def test_without_improvements_it_is_the_detector() -> None:
    """To the bit."""
    detector = make_detector(pooling="align", pooled_side=6).eval()
    images, targets = draw_scenes(2)
    with torch.no_grad():
        assert torch.equal(detect([detector], images, targets, Improvements()), detector(images, targets))


def test_twins_are_one() -> None:
    """Whatever both propose, the double of a detection is suppressed."""
    detector = make_detector(pooling="align", pooled_side=6).eval()
    images, targets = draw_scenes(2)
    with torch.no_grad():
        rows = detect([detector, detector], images, targets, Improvements())
        torch.testing.assert_close(rows, detector(images, targets))


@pytest.mark.parametrize("head", [{"pooling": "align", "pooled_side": 6}, {}, {"context": True, "pooled_side": 4}])
def test_all_improvements_go_together(head: dict[str, object]) -> None:
    """Detections stay inside the frame, best first."""
    detectors = [make_detector(**head, detection_score=0.01).eval() for _ in range(2)]
    images, targets = draw_scenes(2)
    improvements = Improvements(rounds=1, voting=0.5, factors=(0.5, 1.0, 1.5))
    with torch.no_grad():
        rows = detect(detectors, images, targets, improvements)
    assert rows.shape == (2, 10, 6) and (rows[..., FOUND] != ABSENT).any()
    assert (rows[..., 1:, 4] <= rows[..., :-1, 4]).all()
    assert (rows[..., :4] >= 0).all() and (rows[..., :4] <= 64.001).all()


def test_work_is_that_of_the_looks() -> None:
    """A test in two sizes looks at the image once more in each, by its pixels; a round judges all regions again."""
    assert Improvements().work == 1
    assert Improvements(rounds=1, voting=0.5).work == 2
    assert Improvements(rounds=1, factors=(0.5, 1.0)).work == 2 * (1 + 0.25 + 1)
