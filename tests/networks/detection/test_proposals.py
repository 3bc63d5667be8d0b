"""Proposals against a loop with torchvision's suppression, and which anchors are trained on."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torchvision.ops import nms

from reslab.networks.detection.boxes import are_large, clip, decode
from reslab.networks.detection.proposals import Candidates, Proposer
from reslab.networks.detection.sampling import read_objects
from reslab.spec.boxes import FRAME
from reslab.spec.detection import Detection

FIELDS: dict[str, Any] = {
    "anchor_sides": (16.0, 32.0),
    "candidates_train": 40,
    "proposals_train": 12,
    "candidates_test": 25,
    "proposals_test": 6,
    "proposal_side": 6.0,
    "rpn_width": 8,
}
FRAMES = torch.tensor([[0.0, 0.0, 64.0, 48.0], [0.0, 0.0, 40.0, 30.0]])


def make_proposer(**fields: Any) -> tuple[Proposer, Candidates]:
    """One whose layers say much, and what it says of two images of 64 by 48 pixels."""
    proposer = Proposer(Detection(**{**FIELDS, **fields}).settle(), width=4, strides=[8])
    for layer in (proposer.head.conv, proposer.head.objectness, proposer.head.boxes):
        torch.nn.init.normal_(layer.weight, std=0.3)
    return proposer, proposer([torch.randn(2, 4, 6, 8)], (48, 64))


@pytest.mark.parametrize("training", [True, False])
def test_the_best_of_what_fits_the_frame_are_proposed(training: bool) -> None:
    """Cut off at it, none too small, none from its outside, without those that overlap a better one."""
    proposer, candidates = make_proposer()
    ranked, count = (40, 12) if training else (25, 6)
    proposed = proposer.propose(candidates, FRAMES, training=training)
    assert proposed.boxes.shape == (2, count, 4) and not proposed.boxes.requires_grad
    for image, frame in enumerate(FRAMES):
        boxes = clip(decode(candidates.codes[image], candidates.anchors), frame).detach()
        good = are_large(boxes, 6) & (candidates.starts < frame[2:]).all(1)
        logits = candidates.logits[image].detach()[good]
        best = logits.argsort(descending=True)[:ranked]
        kept = best[nms(boxes[good][best], logits[best], 0.7)][:count]
        valid = proposed.valid[image]
        torch.testing.assert_close(proposed.boxes[image][valid], boxes[good][kept])
        torch.testing.assert_close(proposed.scores[image][valid], logits[kept])
        assert (proposed.boxes[image][valid] <= frame[2:].repeat(2)).all()


def test_a_pyramid_joins_what_its_maps_propose() -> None:
    """The best of all, each map's thinned out by itself."""
    sides = (8.0, 16.0, 24.0, 32.0, 40.0)
    plan = Detection(head="fpn", **{**FIELDS, "anchor_sides": sides, "proposals_test": 9}).settle()
    proposer = Proposer(plan, width=4, strides=[4, 8, 16, 32, 64])
    maps = [torch.randn(1, 4, 64 >> level, 64 >> level) for level in range(2, 7)]
    candidates = proposer(maps, (64, 64))
    assert candidates.counts == [768, 192, 48, 12, 3]
    frame = torch.tensor([[0.0, 0.0, 64.0, 64.0]])
    proposed = proposer.propose(candidates, frame, training=False)
    scores = proposed.scores[0][proposed.valid[0]]
    assert len(scores) == 9 and torch.equal(scores, scores.sort(descending=True).values)


@pytest.mark.parametrize("crossing", [True, False])
def test_anchors_that_cross_the_border_may_be_left_out(crossing: bool) -> None:
    """Then only those inside the frame have a gradient."""
    proposer, candidates = make_proposer(crossing_anchors=crossing, rpn_samples=10_000)
    targets = torch.zeros(2, 2, 7)
    targets[:, 0, :4], targets[:, 0, 4] = FRAMES, FRAME
    targets[:, 1] = torch.tensor([4, 4, 30, 28, 0, 0, 600])
    candidates.logits.retain_grad()
    losses = proposer.losses(candidates, FRAMES, read_objects(targets), torch.Generator())
    losses["rpn_class"].backward()
    assert candidates.logits.grad is not None
    trained = candidates.logits.grad != 0
    inside = torch.stack(
        [((candidates.anchors >= 0) & (candidates.anchors <= frame[2:].repeat(2))).all(1) for frame in FRAMES]
    )
    began = torch.stack([(candidates.starts < frame[2:]).all(1) for frame in FRAMES])
    assert bool((trained & ~inside).any()) == crossing
    assert not (trained & ~began).any() and trained.any(1).all()
