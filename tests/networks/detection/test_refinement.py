"""Refinement and voting against loops over regions."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from reslab.networks.detection.boxes import overlaps
from reslab.networks.detection.refinement import refine, vote
from reslab.networks.detection.sampling import Regions
from reslab.networks.detection.selection import Judgement, select
from reslab.spec.detection import Detection


def draw_boxes(*shape: int) -> Tensor:
    """Boxes in an image of 20."""
    corners = torch.rand(*shape, 2, 2) * 20
    return torch.cat([corners.amin(-2), corners.amax(-2)], dim=-1)


def shrink(boxes: Tensor, frames: Tensor) -> Judgement:
    """Judge that each class has a box a little smaller than the region, the second more so and more likely."""
    smaller = [boxes + torch.tensor([step, step, -step, -step]) for step in (0.1, 0.5)]
    areas = (boxes[..., 2:] - boxes[..., :2]).prod(-1)
    return Judgement(torch.stack([areas / 1000, areas / 1000 + 1], dim=-1), torch.stack(smaller, dim=2))


@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_regions_are_cut_out_again_at_their_likeliest_box(rounds: int) -> None:
    """And all rounds count together."""
    boxes, valid = draw_boxes(2, 5), torch.rand(2, 5) < 0.6
    frames = torch.tensor([[0.0, 0.0, 20.0, 20.0]] * 2)
    judgement, kept = refine(shrink, Regions(boxes, torch.zeros(2, 5), valid), frames, rounds=rounds)
    assert judgement.scores.shape == (2, 5 * (rounds + 1), 2)
    for turn in range(rounds + 1):
        expected = shrink(boxes, frames)
        part = slice(5 * turn, 5 * turn + 5)
        assert torch.equal(judgement.boxes[:, part], expected.boxes) and torch.equal(kept[:, part], valid)
        assert torch.equal(judgement.scores[:, part], expected.scores)
        boxes = expected.boxes[:, :, 1]


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_candidates_vote_for_what_they_overlap(seed: int) -> None:
    """With their scores, for detections of their class; scores and classes stay, and absent rows."""
    torch.manual_seed(seed)
    plan = Detection(detections=8, detection_score=0.3, detection_overlap=0.3).settle()
    judgement, valid = Judgement(torch.rand(2, 12, 3), draw_boxes(2, 12, 3)), torch.rand(2, 12) < 0.7
    rows = select(judgement, valid, plan)
    voted = vote(rows, judgement, valid, plan, overlap=0.5)
    assert torch.equal(voted[..., 4:], rows[..., 4:])
    for image in range(2):
        for row, after in zip(rows[image], voted[image], strict=True):
            kind, total, weights = int(row[5]), torch.zeros(4), 0.0
            if kind < 0:
                assert not after[:4].any()
                continue
            for region in range(12):
                box, score = judgement.boxes[image, region, kind], float(judgement.scores[image, region, kind])
                near = float(overlaps(row[None, :4], box[None])) >= 0.5
                if valid[image, region] and score > 0.3 and near and (box[2:] - box[:2]).min() >= 0.01:
                    total, weights = total + score * box, weights + score
            torch.testing.assert_close(after[:4], total / weights, rtol=1e-4, atol=1e-4)
