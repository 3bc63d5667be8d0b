"""The detections of a class by falling score, with the verdict on each: what average precision is taken from."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reslab.tasks.detection.matching import NEITHER, RIGHT, Places, Verdicts
from reslab.tasks.detection.precision import Numbers
from reslab.tasks.detection.rows import ImageSet


@dataclass(frozen=True)
class Ranking:
    """The image of each detection, the verdict on it at each threshold, and the image of each object to be found."""

    image: Places
    verdict: Verdicts
    sought: Places

    def count(self, threshold: int = 0) -> tuple[Numbers, Numbers, int]:
        """Return how many are right, and how many count, at each right one; and how many objects there are."""
        return *count_verdicts(self.verdict[threshold]), len(self.sought)


def count_verdicts(verdict: Verdicts) -> tuple[Numbers, Numbers]:
    """Return how many are right so far, and how many count, at each right one."""
    right = np.flatnonzero(verdict == RIGHT)
    return np.arange(1.0, len(right) + 1), np.cumsum(verdict != NEITHER)[right].astype(np.float64)


def rank_classes(tested: ImageSet, verdict: Verdicts) -> tuple[Ranking, ...]:
    """Return each class's ranking; equal scores stay in the order of their images."""
    detections, objects = tested.detections, tested.objects
    sought = objects.image[objects.plain], objects.label[objects.plain]
    return tuple(
        Ranking(detections.image[which], verdict[:, which], sought[0][sought[1] == label])
        for label, which in enumerate(sort_classes(tested))
    )


def sort_classes(tested: ImageSet) -> list[NDArray[np.int64]]:
    """Return for each class the places of its detections by falling score."""
    detections = tested.detections
    order = np.lexsort((-detections.score, detections.label))
    return np.split(order, np.searchsorted(detections.label[order], np.arange(1, tested.classes)))
