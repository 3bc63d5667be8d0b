"""Tests of the authors' released weights meet what was published of them.

Here the weights are theirs and only the testing is ours, on as many validation images as there are. On fewer than all
50,000 chance moves an error by its standard error. Within two of them, and 0.15 for rounding and for other ways to
resize and decode, ours *agrees*; on all images it is *reproduced*; else it *deviates*.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from reslab.paper.release import RELEASED_TESTS, VALIDATION_IMAGES, ReleasedTest
from reslab.runs.released import read_tests

ALLOWANCE = 0.15
QUANTITIES = dict(zip(RELEASED_TESTS[0].published, ("top-1 error %", "top-5 error %"), strict=True))
ReleaseWord: TypeAlias = Literal["reproduced", "agrees", "deviates", "not run"]


@dataclass(frozen=True, kw_only=True)
class ReleaseVerdict:
    """A published error of released weights beside ours on so many images; None where nothing was tested."""

    test: ReleasedTest
    metric: str
    ours: float | None = None
    images: int = 0
    data: str = ""
    precision: str = ""

    @property
    def published(self) -> float:
        """The published error."""
        return self.test.published[self.metric]

    @property
    def quantity(self) -> str:
        """What it is an error of: top-1 error %, 10-crop."""
        return f"{QUANTITIES[self.metric]}, {self.test.protocol}"

    @property
    def standard_error(self) -> float | None:
        """How far chance moves ours, by the number of images."""
        if self.ours is None:
            return None
        part = self.ours / 100
        return 100 * math.sqrt(part * (1 - part) / self.images)

    @property
    def difference(self) -> float | None:
        """Ours less the published."""
        return None if self.ours is None else self.ours - self.published

    @property
    def word(self) -> ReleaseWord:
        """What ours says to the published error."""
        if self.difference is None:
            return "not run"
        part, missing = self.published / 100, max(0.0, 1 / self.images - 1 / VALIDATION_IMAGES)
        if abs(self.difference) > 2 * 100 * math.sqrt(part * (1 - part) * missing) + ALLOWANCE:
            return "deviates"
        return "agrees" if missing else "reproduced"


def judge_release(root: Path) -> list[ReleaseVerdict]:
    """Return the verdict on each published error, by the test of most images that `root` has a record of."""
    records, verdicts = read_tests(root), []
    for test in RELEASED_TESTS:
        fitting = [one for one in records if (one.network, one.protocol) == (test.network, test.protocol)]
        best = max(fitting, key=lambda one: one.images, default=None)
        for metric in test.published:
            found = {} if best is None else {name: getattr(best, name) for name in ("images", "data", "precision")}
            ours = None if best is None else best.scores[metric]
            verdicts.append(ReleaseVerdict(test=test, metric=metric, ours=ours, **found))
    return verdicts
