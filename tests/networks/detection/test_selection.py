"""Detections against a loop over images and classes with torchvision's suppression."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st
from torchvision.ops import nms

from reslab.networks.detection.selection import Judgement, select
from reslab.spec.detection import Detection


@given(st.integers(0, 10_000), st.sampled_from([3, 8, 60]))
def test_detections_are_the_best_of_each_class(seed: int, most: int) -> None:
    """Above the least score, without doubles, at most so many; absent rows fill up."""
    torch.manual_seed(seed)
    plan = Detection(detections=most, detection_score=0.3, detection_overlap=0.4).settle()
    scores, valid = torch.rand(2, 9, 3), torch.rand(2, 9) < 0.8
    corners = torch.rand(2, 9, 3, 2, 2) * 20
    boxes = torch.cat([corners.amin(3), corners.amax(3)], dim=-1)
    boxes[:, 0, 0, 2] = boxes[:, 0, 0, 0]  # without width
    rows = select(Judgement(scores, boxes), valid, plan)
    assert rows.shape == (2, most, 6)
    for image in range(2):
        expected = []
        for kind in range(3):
            good = valid[image] & (scores[image, :, kind] > 0.3)
            good &= (boxes[image, :, kind, 2:] - boxes[image, :, kind, :2] >= 0.01).all(1)
            own, own_scores = boxes[image, good, kind], scores[image, good, kind]
            kept = nms(own, own_scores, 0.4)
            expected += [[*own[row].tolist(), float(own_scores[row]), float(kind)] for row in kept]
        expected = sorted(expected, key=lambda row: -row[4])[:most]
        there = rows[image][: len(expected)]
        torch.testing.assert_close(there, torch.tensor(expected).view(-1, 6))
        assert (rows[image, len(expected) :] == torch.tensor([0, 0, 0, 0, 0, -1])).all()
