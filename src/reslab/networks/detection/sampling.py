"""Which anchors and regions are trained on: matched with the objects they overlap most, then drawn at random.

Objects marked as difficult are left out, as Faster R-CNN leaves them out. What lies in a crowd is no background: nobody
knows what is in there. Every image has the same number of rows; a mask says which of them count.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from reslab.networks.detection.boxes import areas, intersections, overlaps
from reslab.networks.detection.suppression import rank
from reslab.spec.boxes import CLASS, CROWD, MARK, PLAIN
from reslab.spec.detection import SettledDetection

CROWDED = 0.7  # of a box inside a crowd, as in Detectron


@dataclass(frozen=True)
class Objects:
    """What is to be found in a batch of images: boxes (images, rows, 4), classes, and which rows are trained on."""

    boxes: Tensor
    classes: Tensor
    plain: Tensor
    crowds: Tensor


@dataclass(frozen=True)
class Regions:
    """Boxes (images, rows, 4) that may have an object in them, their scores, and which rows count."""

    boxes: Tensor
    scores: Tensor
    valid: Tensor


@dataclass(frozen=True)
class Sample:
    """Regions to train on (images, rows): their labels, 0 being background, and the boxes of their objects."""

    boxes: Tensor
    labels: Tensor
    objects: Tensor
    valid: Tensor


@dataclass(frozen=True)
class Match:
    """How much each box (images, n) overlaps the object it overlaps most, or -1, and which that is.

    `best` are those that no other overlaps that object more than; `crowded` those that lie in a crowd.
    """

    share: Tensor
    which: Tensor
    best: Tensor
    crowded: Tensor


def read_objects(targets: Tensor) -> Objects:
    """Return what rows of targets say; their frames and absent rows are there, but not trained on."""
    present = targets[..., CLASS] >= 0
    return Objects(
        boxes=targets[..., :4],
        classes=targets[..., CLASS].long(),
        plain=present & (targets[..., MARK] == PLAIN),
        crowds=present & (targets[..., MARK] == CROWD),
    )


def match(boxes: Tensor, usable: Tensor, objects: Objects) -> Match:
    """Match boxes (images, n, 4) with objects, one image after the other; boxes that are not `usable` match none."""
    rows = (boxes.expand(len(usable), -1, 4), usable, objects.boxes, objects.plain, objects.crowds)
    columns = zip(*[_match_image(*row) for row in zip(*rows, strict=True)], strict=True)
    return Match(*[torch.stack(column) for column in columns])


def _match_image(boxes: Tensor, usable: Tensor, objects: Tensor, plain: Tensor, crowds: Tensor) -> tuple[Tensor, ...]:
    shares = overlaps(boxes, objects).masked_fill(~(usable[:, None] & plain), -1)
    share, which = shares.max(1)
    most = shares.amax(0)
    best = ((shares == most) & (most > 0)).any(1)
    covered = intersections(boxes, objects) >= CROWDED * areas(boxes)[:, None].clamp(min=1e-6)
    return share, which, best, (covered & crowds).any(1)


def pick(values: Tensor, which: Tensor) -> Tensor:
    """Return of each image's rows (images, rows, ...) those that `which` (images, n) names."""
    if values.dim() == 2:
        return values.gather(1, which)
    return values.gather(1, which[..., None].expand(-1, -1, values.shape[2]))


def draw(
    positive: Tensor, negative: Tensor, *, count: int, share: float, generator: torch.Generator | None
) -> tuple[Tensor, Tensor]:
    """Draw `count` rows of each image (images, n), at most a `share` of them positive; return both as masks."""
    device = positive.device if generator is None else generator.device
    keys = torch.rand(positive.shape, generator=generator, device=device).to(positive.device)
    most = int(count * share)
    chosen = _draw(positive, keys, most, torch.full_like(positive[:, :1], most, dtype=torch.long))
    return chosen, _draw(negative, keys, count, count - chosen.sum(1, keepdim=True))


def _draw(candidates: Tensor, keys: Tensor, most: int, count: Tensor) -> Tensor:
    order, there = rank(keys, candidates, most)
    wanted = there & (torch.arange(order.shape[1], device=keys.device) < count)
    return torch.zeros_like(candidates).scatter(1, order, wanted)


def sample_anchors(
    anchors: Tensor, usable: Tensor, objects: Objects, *, plan: SettledDetection, generator: torch.Generator | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return which anchors (images, n) train as objects and which as background, and the boxes of their objects."""
    found = match(anchors[None], usable, objects)
    positive = usable & ((found.share >= plan.rpn_positive_overlap) | found.best)
    negative = usable & (found.share < plan.rpn_negative_overlap) & ~positive & ~found.crowded
    positive, negative = draw(
        positive, negative, count=plan.rpn_samples, share=plan.rpn_positive_share, generator=generator
    )
    return positive, negative, pick(objects.boxes, found.which)


def sample_regions(
    proposed: Regions, objects: Objects, *, plan: SettledDetection, generator: torch.Generator | None
) -> Sample:
    """Return regions to train on, drawn from what was proposed and from the objects' own boxes."""
    boxes = torch.cat([objects.boxes, proposed.boxes], dim=1)
    valid = torch.cat([objects.plain, proposed.valid], dim=1)
    found = match(boxes, valid, objects)
    share, (low, high) = found.share.clamp(min=0), plan.region_negative_overlaps
    positive = valid & (share >= plan.region_positive_overlap) & (found.share > 0)
    negative = valid & (share >= low) & (share < high) & ~positive & ~found.crowded
    positive, negative = draw(
        positive, negative, count=plan.regions, share=plan.region_positive_share, generator=generator
    )
    order, there = rank(2.0 * positive + negative, positive | negative, plan.regions)
    which = found.which.gather(1, order)
    labels = torch.where(positive.gather(1, order), objects.classes.gather(1, which) + 1, 0)
    return Sample(pick(boxes, order), labels, pick(objects.boxes, which), there)
