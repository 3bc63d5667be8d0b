"""Ensembles: proposals of all, judged by the mean of all."""

from __future__ import annotations

import torch
from torch import Tensor

from reslab.networks.detection.refinement import Judge
from reslab.networks.detection.sampling import Regions
from reslab.networks.detection.selection import Judgement
from reslab.networks.detection.union import judge_together, unite


def test_proposals_are_put_together() -> None:
    """Image by image, with what counts."""
    parts = [Regions(torch.rand(2, n, 4), torch.rand(2, n), torch.rand(2, n) < 0.5) for n in (3, 2)]
    united = unite(parts)
    assert united.boxes.shape == (2, 5, 4)
    assert torch.equal(united.boxes[1, 3:], parts[1].boxes[1]) and torch.equal(united.valid[0, :3], parts[0].valid[0])
    assert torch.equal(united.scores, torch.cat([part.scores for part in parts], dim=1))


def test_all_judge_every_region() -> None:
    """Scores and boxes are their means."""

    def make(score: float, away: float) -> Judge:
        def judge(boxes: Tensor, frames: Tensor) -> Judgement:
            return Judgement(torch.full((*boxes.shape[:2], 3), score), (boxes + away)[:, :, None].expand(-1, -1, 3, -1))

        return judge

    boxes, frames = torch.rand(2, 5, 4), torch.zeros(2, 4)
    judgement = judge_together([make(0.2, 1.0), make(0.6, 4.0)])(boxes, frames)
    torch.testing.assert_close(judgement.scores, torch.full((2, 5, 3), 0.4))
    torch.testing.assert_close(judgement.boxes, (boxes + 2.5)[:, :, None].expand(-1, -1, 3, -1))
