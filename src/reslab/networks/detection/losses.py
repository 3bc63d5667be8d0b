"""The losses of proposals and of regions: means over what was sampled, in all images of a batch together."""

from torch import Tensor
from torch.nn import functional as F


def classify_objects(logits: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """Return the mean log loss of objects against background."""
    sampled = positive | negative
    losses = F.binary_cross_entropy_with_logits(logits.float(), positive.float(), reduction="none")
    return (losses * sampled).sum() / _count(sampled)


def classify_regions(logits: Tensor, labels: Tensor, sampled: Tensor) -> Tensor:
    """Return the mean log loss of classes (regions, classes), of which background is the first."""
    losses = F.cross_entropy(logits.float(), labels, reduction="none")
    return (losses * sampled).sum() / _count(sampled)


def place_boxes(codes: Tensor, targets: Tensor, positive: Tensor, sampled: Tensor, *, beta: float) -> Tensor:
    """Return the smooth L1 loss of the boxes of objects, as a mean over all that was sampled.

    Up to `beta` it is a parabola; a line from there on.
    """
    losses = F.smooth_l1_loss(codes.float(), targets, beta=beta, reduction="none").sum(-1)
    return (losses * positive).sum() / _count(sampled)


def _count(sampled: Tensor) -> Tensor:
    return sampled.sum().clamp(min=1)
