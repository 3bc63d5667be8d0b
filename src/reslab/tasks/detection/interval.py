"""How far a mean average precision may be off because of the images it was tested on: a bootstrap over images.

Images are drawn as many as there are, with replacement, again and again. What is right is judged once: a draw only says
how often each image counts. The interval has 95 % of the draws, mirrored at the value itself: precision raised to the
greatest at a higher recall flatters, and flatters draws, where images come twice, as much again. (Where scores hardly
tell right from wrong, the interval may lie below the value.) Draws depend on the seed and the number of images alone,
so two detectors tested on the same images are compared draw by draw.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from reslab.errors import UserError
from reslab.tasks.detection.matching import NEITHER, RIGHT
from reslab.tasks.detection.precision import Numbers, Rule, average
from reslab.tasks.detection.ranking import Ranking

CONFIDENCE = 0.95
RESAMPLES = 1000
AT_ONCE = 32  # draws: as many as the processor's cache is good for

Interval: TypeAlias = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The second detector's mean average precision less the first's, and the interval of the difference."""

    difference: float
    interval: Interval


@dataclass(frozen=True, kw_only=True)
class Bootstrap:
    """How the images, so many, are drawn."""

    images: int
    resamples: int = RESAMPLES
    seed: int = 0

    def find_interval(self, rankings: Sequence[Ranking], rule: Rule) -> Interval:
        """Return the interval of the mean average precision over classes and thresholds, from 0 to 1."""
        value, draws = self.resample(rankings, rule)
        low, high = _mirror(value, draws)
        return max(low, 0.0), min(high, 1.0)

    def compare(self, first: Sequence[Ranking], second: Sequence[Ranking], rule: Rule) -> Comparison:
        """Compare two detectors on the same images."""
        for one, other in zip(first, second, strict=True):
            if not np.array_equal(np.sort(one.sought), np.sort(other.sought)):
                raise UserError("the two detectors were tested on different objects; test both on the same images")
        (value, draws), (another, others) = (self.resample(rankings, rule) for rankings in (first, second))
        return Comparison(difference=another - value, interval=_mirror(another - value, others - draws))

    def resample(self, rankings: Sequence[Ranking], rule: Rule) -> tuple[float, Numbers]:
        """Return the mean average precision, and that of each draw: NaN where no image drawn has an object."""
        classes = [_ClassDraws.of(ranking, self.images) for ranking in rankings]
        draws = [_average_all(classes, weights, rule) for weights in self._draw()]
        return float(_average_all(classes, np.ones((self.images, 1)), rule)[0]), np.concatenate(draws)

    def _draw(self) -> Iterator[Numbers]:
        """Yield how often each image counts (images, draws), some draws at a time."""
        random = np.random.Generator(np.random.PCG64(self.seed))
        for first in range(0, self.resamples, AT_ONCE):
            count = min(AT_ONCE, self.resamples - first)
            drawn = random.integers(0, self.images, (count, self.images)) + self.images * np.arange(count)[:, None]
            counts = np.bincount(drawn.ravel(), minlength=count * self.images).reshape(count, self.images)
            yield np.ascontiguousarray(counts.T, dtype=np.float64)


@dataclass(frozen=True)
class _ClassDraws:
    """A class, ready to be drawn: how many objects each image has, and at each threshold the right detections' images.

    `steps` has a row for each of them, which counts by image what came since the one before, itself included.
    """

    sought: Numbers
    right: tuple[NDArray[np.int64], ...]
    steps: tuple[csr_array, ...]

    @classmethod
    def of(cls, ranking: Ranking, images: int) -> Self:
        """Leave out detections that do not count, and those after the last that is right."""
        right, steps = [], []
        for verdict in ranking.verdict:
            image = ranking.image[verdict != NEITHER]
            places = np.flatnonzero(verdict[verdict != NEITHER] == RIGHT)
            bounds = np.append(0, places + 1)
            entries = np.ones(bounds[-1]), image[: bounds[-1]], bounds
            right.append(image[places])
            steps.append(csr_array(entries, shape=(len(places), images)))
        return cls(np.bincount(ranking.sought, minlength=images).astype(np.float64), tuple(right), tuple(steps))


def _average_all(classes: Sequence[_ClassDraws], weights: Numbers, rule: Rule) -> Numbers:
    """Return the mean over classes and thresholds of each draw; a class counts where its objects are drawn."""
    total, known = np.zeros(weights.shape[1]), np.zeros(weights.shape[1])
    for one in classes:
        objects = one.sought @ weights
        known += objects > 0
        for right, steps in zip(one.right, one.steps, strict=True):
            found, told = np.cumsum(weights[right], axis=0), np.cumsum(steps @ weights, axis=0)
            precision = average(found, told, np.maximum(objects, 1), rule)
            total += np.where(objects > 0, precision, 0) / len(one.right)
    return np.divide(total, known, out=np.full_like(total, np.nan), where=known > 0)


def _mirror(value: float, draws: Numbers) -> Interval:
    low, high = np.nanquantile(draws, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(2 * value - high), float(2 * value - low)
