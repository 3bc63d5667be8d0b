"""Mean average precision as VOC takes it, at an overlap of a half: by the area, as from 2010, and by eleven points.

Of a class without objects nothing is told, and the mean is over the others.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from reslab.tasks.detection.matching import judge_voc
from reslab.tasks.detection.precision import Numbers, average, draw_curve
from reslab.tasks.detection.ranking import Ranking, rank_classes
from reslab.tasks.detection.rows import ImageSet


@dataclass(frozen=True, kw_only=True)
class VocPrecision:
    """The average precision of each class by both rules, from 0 to 1, and what it was taken from."""

    rankings: tuple[Ranking, ...]
    area: tuple[float | None, ...]
    eleven: tuple[float | None, ...]

    @classmethod
    def measure(cls, tested: ImageSet) -> Self:
        """Judge all detections."""
        rankings = rank_classes(tested, judge_voc(tested)[None])
        counts = [ranking.count() if ranking.sought.size else None for ranking in rankings]
        return cls(
            rankings=rankings,
            area=tuple(count and float(average(*count, "area")) for count in counts),
            eleven=tuple(count and float(average(*count, "11 points")) for count in counts),
        )

    @property
    def curves(self) -> tuple[Numbers | None, ...]:
        """The raised precision of each class at 101 recalls."""
        return tuple(draw_curve(*ranking.count()) if ranking.sought.size else None for ranking in self.rankings)


def mean(precisions: tuple[float | None, ...]) -> float | None:
    """Return the mean over the classes that there are; None where there is none."""
    known = [precision for precision in precisions if precision is not None]
    return float(np.mean(known)) if known else None
