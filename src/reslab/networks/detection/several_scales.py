"""Testing at several scales (paper, appendix B): each region is looked at in two sizes of its image.

Regions are proposed at one scale. Of the scales, the one in which a region is nearest to 224 pixels is taken, and the
better of those beside it; where features differ, the larger value counts. The paper leaves the rule to another.
"""

from collections.abc import Iterable, Sequence
from functools import reduce

import torch
from torch import Tensor
from torch.nn import functional as F

from reslab.networks.detection.detector import Detector
from reslab.networks.detection.refinement import Judge
from reslab.networks.detection.selection import Judgement

USUAL_SIDE = 224  # of a region, as ImageNet's crops
SIDES = (200, 400, 600, 800, 1000)  # of images, in the paper


def judge_at_scales(detector: Detector, images: Tensor, factors: Sequence[float]) -> Judge:
    """Return what judges regions by images resized by `factors`, in increasing order."""
    resized = [_resize(images, factor) for factor in factors]
    maps = [detector.maps(each) for each in resized]
    # A factor of each side, which is not quite what was asked for: sides are whole pixels.
    size = images.new_tensor(images.shape[:1:-1]).repeat(2)
    exact = [images.new_tensor(each.shape[:1:-1]).repeat(2) / size for each in resized]

    def judge(boxes: Tensor, frames: Tensor) -> Judgement:
        looks = choose_scales(boxes, factors).flatten(0, 1).unbind(-1)
        # To cut out is little work beside what follows: it is done in all sizes, and the rest in those chosen.
        cut = _pick_each(looks, (detector.pool(own, boxes * factor) for own, factor in zip(maps, exact, strict=True)))
        features = reduce(torch.maximum, map(detector.describe_pooled, cut))
        if detector.plan.context:
            whole = [detector.pool(own, (frames * factor)[:, None]) for own, factor in zip(maps, exact, strict=True)]
            rows = [detector.describe_pooled(each).repeat_interleave(boxes.shape[1], 0) for each in whole]
            features = torch.cat([features, reduce(torch.maximum, _pick_each(looks, rows))], dim=1)
        return detector.read(features, boxes, frames)

    return judge


def choose_scales(boxes: Tensor, factors: Sequence[float]) -> Tensor:
    """Return which two adjacent scales each box (..., 4) is looked at in (..., 2); all where there are no more."""
    sides = (boxes[..., 2:] - boxes[..., :2]).clamp(min=1e-3).prod(-1).sqrt()
    distances = torch.stack([(sides * factor / USUAL_SIDE).log().abs() for factor in factors], dim=-1)
    # Distances fall and rise again, so the two nearest scales are beside each other.
    return distances.sort(dim=-1, stable=True).indices[..., :2]


def _pick_each(looks: Sequence[Tensor], by_scale: Iterable[Tensor]) -> list[Tensor]:
    """Return, for each look, the rows at the scale it has for them. Scales come one by one: all are much memory."""
    picked: list[Tensor] = []
    for scale, rows in enumerate(by_scale):
        there = [(look == scale).view(-1, *[1] * (rows.dim() - 1)) for look in looks]
        picked = [
            torch.where(mask, rows, before) for mask, before in zip(there, picked or [rows] * len(looks), strict=True)
        ]
    return picked


def _resize(images: Tensor, factor: float) -> Tensor:
    size = [max(1, round(side * factor)) for side in images.shape[-2:]]
    if size == list(images.shape[-2:]):
        return images
    return F.interpolate(images, size=size, mode="bilinear", antialias=True)
