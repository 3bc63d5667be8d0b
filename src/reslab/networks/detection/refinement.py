"""Box refinement and voting (paper, appendix B): regions are cut out again where their objects seem to be.

The paper does not say which of a region's boxes is cut out, nor how votes are weighted: here it is the box of the most
likely class, and candidates vote with their scores.
"""

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

from reslab.networks.detection.boxes import overlaps
from reslab.networks.detection.sampling import Regions
from reslab.networks.detection.selection import Judgement, find_certain
from reslab.spec.boxes import FOUND
from reslab.spec.detection import SettledDetection

# What is said of regions (images, regions, 4) in frames (images, 4).
Judge: TypeAlias = Callable[[Tensor, Tensor], Judgement]


def refine(judge: Judge, proposed: Regions, frames: Tensor, *, rounds: int) -> tuple[Judgement, Tensor]:
    """Return what is said of proposals and of the boxes they led to, all together, and which of these rows count."""
    judgements = [judge(proposed.boxes, frames)]
    for _ in range(rounds):
        last = judgements[-1]
        likeliest = last.scores.argmax(-1)[..., None, None].expand(-1, -1, 1, 4)
        judgements.append(judge(last.boxes.gather(2, likeliest)[:, :, 0], frames))
    scores = torch.cat([each.scores for each in judgements], dim=1)
    boxes = torch.cat([each.boxes for each in judgements], dim=1)
    return Judgement(scores, boxes), proposed.valid.repeat(1, rounds + 1)


def vote(rows: Tensor, judgement: Judgement, valid: Tensor, plan: SettledDetection, *, overlap: float) -> Tensor:
    """Return detections (images, kept, 6), each box the mean of all that overlap it so much, by their scores."""
    found = rows[..., FOUND].long()
    candidates = found.clamp(min=0)[:, None].expand(-1, judgement.scores.shape[1], -1)
    weights = torch.where(find_certain(judgement, valid, plan), judgement.scores, 0).gather(2, candidates)
    boxes = judgement.boxes.gather(2, candidates[..., None].expand(-1, -1, -1, 4)).transpose(1, 2)
    near = overlaps(rows[..., None, :4], boxes)[:, :, 0] >= overlap
    weights = (weights.transpose(1, 2) * near)[..., None]
    total = weights.sum(2)
    voted = torch.where((total > 0) & (found >= 0)[..., None], (weights * boxes).sum(2) / total, rows[..., :4])
    return torch.cat([voted, rows[..., 4:]], dim=-1)
