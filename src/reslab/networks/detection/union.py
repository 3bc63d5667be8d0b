"""Ensembles (paper, appendix B): regions proposed by any network are judged by all of them."""

from collections.abc import Sequence

import torch
from torch import Tensor

from reslab.networks.detection.refinement import Judge
from reslab.networks.detection.sampling import Regions
from reslab.networks.detection.selection import Judgement


def unite(proposals: Sequence[Regions]) -> Regions:
    """Return the proposals of all networks."""
    columns = zip(*[(each.boxes, each.scores, each.valid) for each in proposals], strict=True)
    return Regions(*[torch.cat(column, dim=1) for column in columns])


def judge_together(judges: Sequence[Judge]) -> Judge:
    """Return what judges regions by the mean of all scores and of all boxes."""

    def judge(boxes: Tensor, frames: Tensor) -> Judgement:
        judgements = [each(boxes, frames) for each in judges]
        scores = torch.stack([each.scores for each in judgements]).mean(0)
        return Judgement(scores, torch.stack([each.boxes for each in judgements]).mean(0))

    return judge
