"""Whether two programs find the same in images: every detection of one has its counterpart in the other.

Rows are not compared by their places: equal scores may change places by a rounding. Nor must all of them be there: of
two boxes that overlap almost exactly as much as is allowed, a rounding decides.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from reslab.errors import UserError
from reslab.spec.boxes import ABSENT, FOUND, SCORE

BOX_TOLERANCE = 1e-2  # pixels of the network's input
SCORE_TOLERANCE = 1e-3
SHARE = 0.99  # of the detections of both


@dataclass(frozen=True, kw_only=True)
class DetectionParity:
    """How many detections of both programs there are, how many have a counterpart, and how far these are from it.

    A counterpart has the same class, its edges within 0.01 pixels and its score within 0.001.
    """

    images: int
    detections: int
    alike: int
    box_difference: float
    score_difference: float
    agrees: bool


def compare_detections(pairs: Iterable[tuple[Tensor, Tensor]]) -> DetectionParity:
    """Compare detections (rows, 6) of one program with those of another, image by image."""
    images = detections = alike = 0
    largest = torch.zeros(2)
    for pair in pairs:
        images += 1
        first, second = (rows[rows[:, FOUND] != ABSENT] for rows in pair)
        apart = (first[:, None] - second[None]).abs()
        boxes, scores = apart[..., :SCORE].amax(-1), apart[..., SCORE]
        same = (apart[..., FOUND] == 0) & (boxes <= BOX_TOLERANCE) & (scores <= SCORE_TOLERANCE)
        detections += len(first) + len(second)
        alike += int(same.any(1).sum() + same.any(0).sum())
        for axis in (0, 1):
            nearest = torch.where(same, boxes, torch.inf)
            if nearest.numel():
                place = nearest.argmin(axis, keepdim=True)
                there = same.any(axis, keepdim=True)
                found = [torch.where(there, each.gather(axis, place), 0).max() for each in (boxes, scores)]
                largest = torch.maximum(largest, torch.stack(found))
    box, score = largest.tolist()
    return DetectionParity(
        images=images,
        detections=detections,
        alike=alike,
        box_difference=box,
        score_difference=score,
        agrees=detections > 0 and alike >= SHARE * detections,
    )


def refuse_difference(path: Path, parity: DetectionParity) -> None:
    """Refuse a file that finds something else than the network, or was never seen to find anything."""
    if not parity.detections:
        raise UserError(
            f"{path} was not written: the network finds nothing in the {parity.images} images, so the file cannot be "
            "checked; give images that show its classes"
        )
    if not parity.agrees:
        raise UserError(
            f"{path} was not written: {parity.detections - parity.alike} of {parity.detections} detections of the "
            "network and the file have no counterpart in the other; test the network with reslab instead"
        )
