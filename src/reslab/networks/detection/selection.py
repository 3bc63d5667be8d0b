"""From scores and boxes of regions to detections: the certain ones of each class, without doubles, the best of all."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from reslab.networks.detection.boxes import are_large
from reslab.networks.detection.suppression import rank, suppress
from reslab.spec.boxes import ABSENT, DETECTION_COLUMNS, FOUND
from reslab.spec.detection import SettledDetection

SMALLEST = 0.01  # pixels: what has no sides is nothing, as in torchvision


@dataclass(frozen=True)
class Judgement:
    """What is said of regions: scores (images, regions, classes) and, for each class, a box in the frame."""

    scores: Tensor
    boxes: Tensor


def find_certain(judgement: Judgement, valid: Tensor, plan: SettledDetection) -> Tensor:
    """Return which classes of which regions (images, regions, classes) may be detections at all."""
    certain = judgement.scores > plan.detection_score
    return valid[..., None] & certain & are_large(judgement.boxes, SMALLEST)


def select(judgement: Judgement, valid: Tensor, plan: SettledDetection) -> Tensor:
    """Return the detections (images, plan.detections, 6) of regions, best first, as rows of `spec.boxes`."""
    boxes, scores, certain = judgement.boxes, judgement.scores, find_certain(judgement, valid, plan)
    images, regions, classes = scores.shape
    # A group is a class of an image.
    groups = [
        each.transpose(1, 2).reshape(images * classes, regions, *each.shape[3:]) for each in (boxes, scores, certain)
    ]
    chosen, kept = suppress(*groups, overlap=plan.detection_overlap, count=plan.detections)
    boxes = groups[0].gather(1, chosen[..., None].expand(-1, -1, 4)).view(images, -1, 4)
    scores = groups[1].gather(1, chosen).view(images, -1)
    found = torch.arange(classes, device=scores.device).repeat_interleave(chosen.shape[1]).expand(images, -1)
    rows = torch.cat([boxes, scores[..., None], found[..., None]], dim=-1)
    order, there = rank(scores, kept.reshape(images, -1), plan.detections)
    rows = rows.gather(1, order[..., None].expand(-1, -1, DETECTION_COLUMNS)) * there[..., None]
    rows = F.pad(rows, (0, 0, 0, plan.detections - order.shape[1]))
    there = F.pad(there, (0, plan.detections - order.shape[1]))
    rows[..., FOUND].masked_fill_(~there, ABSENT)
    return rows
