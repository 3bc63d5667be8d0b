"""COCO's twelve numbers: average precision over ten overlaps, at .5 and .75, by size; recall with few detections.

A class without objects of a size is left out of what is said of that size. Numbers are those of pycocotools.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from reslab.tasks.detection.matching import MOST_DETECTIONS, RIGHT, SIZES, THRESHOLDS, judge_coco
from reslab.tasks.detection.precision import Numbers, average
from reslab.tasks.detection.ranking import Ranking, count_verdicts, rank_classes, sort_classes
from reslab.tasks.detection.rows import ImageSet
from reslab.tasks.detection.scores import COCO

FEW = (1, 10, MOST_DETECTIONS)  # detections of a class in an image, at most


@dataclass(frozen=True, kw_only=True)
class CocoPrecision:
    """Precision (sizes, thresholds, classes) and recall, from 0 to 1; NaN where there is no object.

    `recall_of_few` (counts, thresholds, classes) is of objects of all sizes with so many detections.
    """

    rankings: tuple[Ranking, ...]
    precision: Numbers
    recall: Numbers
    recall_of_few: Numbers

    @classmethod
    def measure(cls, tested: ImageSet) -> Self:
        """Judge all detections."""
        verdict, place = judge_coco(tested)
        objects = tested.objects
        counted = [objects.plain & (objects.area >= least) & (objects.area <= most) for least, most in SIZES.values()]
        sought = np.stack([np.bincount(objects.label[one], minlength=tested.classes) for one in counted])
        precision = np.full((len(SIZES), len(THRESHOLDS), tested.classes), np.nan)
        recall, few = np.full_like(precision, np.nan), np.full((len(FEW), *precision.shape[1:]), np.nan)
        for label, which in enumerate(sort_classes(tested)):
            mine, places = verdict[:, :, which], place[which]
            for size in np.flatnonzero(sought[:, label]):
                there = int(sought[size, label])
                recall[size, :, label] = (mine[size] == RIGHT).sum(1) / there
                for threshold, one in enumerate(mine[size]):
                    precision[size, threshold, label] = average(*count_verdicts(one), there, "101 points")
            if there := sought[0, label]:
                right = mine[0] == RIGHT
                few[:, :, label] = [right[:, places < most].sum(1) / there for most in FEW]
        return cls(rankings=rank_classes(tested, verdict[0]), precision=precision, recall=recall, recall_of_few=few)

    @cached_property
    def numbers(self) -> dict[str, float | None]:
        """The twelve by COCO's names, from 0 to 1; None where there is no object."""
        every, *sizes = self.precision
        of_sizes = self.recall[1:]
        found = [every, every[0], every[list(THRESHOLDS).index(0.75)], *sizes, *self.recall_of_few, *of_sizes]
        return {name: _mean(values) for name, values in zip(COCO, found, strict=True)}

    @property
    def by_class(self) -> tuple[float | None, ...]:
        """The average precision of each class over all overlaps."""
        return tuple(_mean(values) for values in self.precision[0].T)


def _mean(values: Numbers) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else None
