"""Several scales: which two a region is looked at in, and that the larger value of both counts."""

from __future__ import annotations

import pytest
import torch
from tests.networks.detection.scenes import draw_scenes, make_detector
from torch.nn import functional as F

from reslab.networks.detection.several_scales import SIDES, choose_scales, judge_at_scales


def test_regions_are_looked_at_where_they_are_nearest_to_224() -> None:
    """In that scale and the better of those beside it."""
    sides = torch.tensor([10.0, 70.0, 150.0, 230.0, 300.0, 600.0])
    boxes = torch.stack([torch.zeros(6), torch.zeros(6), sides * 2, sides / 2], dim=1)
    chosen = choose_scales(boxes, [side / 600 for side in SIDES])
    pairs = [tuple(sorted(row)) for row in chosen.tolist()]
    assert pairs == [(3, 4), (3, 4), (3, 4), (2, 3), (1, 2), (0, 1)]
    assert choose_scales(boxes, (1.0,)).tolist() == [[0]] * 6
    assert [sorted(row) for row in choose_scales(boxes, (0.5, 1.0)).tolist()] == [[0, 1]] * 6


def test_the_scale_of_proposals_alone_changes_nothing() -> None:
    """It is the plain detector."""
    detector = make_detector(pooling="align", pooled_side=6).eval()
    images, targets = draw_scenes(2)
    frames, boxes = targets[:, 0, :4], targets[:, :3, :4]
    plain = detector.judge(detector.maps(images), boxes, frames)
    same = judge_at_scales(detector, images, (1.0,))(boxes, frames)
    assert torch.equal(plain.scores, same.scores) and torch.equal(plain.boxes, same.boxes)


@pytest.mark.parametrize("context", [False, True])
def test_features_of_two_scales_are_joined_by_their_maximum(context: bool) -> None:
    """Value by value, of the whole image too; the scales that are not chosen have no say."""
    detector = make_detector(pooling="max", pooled_side=6, context=context).eval()
    images, targets = draw_scenes(1)
    frames = targets[:, 0, :4]
    boxes = torch.tensor([[[4.0, 6.0, 60.0, 50.0], [10.0, 10.0, 20.0, 22.0], [-90.0, -90.0, 160.0, 160.0]]])
    factors = (0.5, 1.0, 2.0, 4.0)
    judgement = judge_at_scales(detector, images, factors)(boxes, frames)
    merged = []
    for region, pair in enumerate([(2.0, 4.0), (2.0, 4.0), (0.5, 1.0)]):
        rows = []
        for factor in pair:
            resized = F.interpolate(images, scale_factor=factor, mode="bilinear", antialias=True)
            box = boxes[:, region : region + 1] * factor
            rows.append(detector.describe(detector.maps(resized), box, frames * factor))
        merged.append(torch.maximum(*rows))
    expected = detector.read(torch.cat(merged), boxes, frames)
    torch.testing.assert_close(judgement.scores, expected.scores)
    torch.testing.assert_close(judgement.boxes, expected.boxes, rtol=1e-4, atol=1e-3)
