"""Whether two settings differ, by the seeds that both were run with: paired differences and two tests of them."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

CONFIDENCE = 0.95
# All ways to flip the signs of so many differences are still counted in a moment.
MOST_SEEDS_TO_FLIP = 16


@dataclass(frozen=True, kw_only=True)
class PairedDifferences:
    """The other's values less the one's, seed by seed; the interval and the t-test need two that are not all equal."""

    seeds: tuple[int, ...]
    differences: tuple[float, ...]
    interval: tuple[float, float] | None
    t_test_p: float | None
    sign_flip_p: float | None

    @property
    def mean(self) -> float:
        """The mean difference."""
        return statistics.fmean(self.differences)


def pair(one: Mapping[int, float], other: Mapping[int, float]) -> PairedDifferences | None:
    """Compare values by seed; None where the two have no seed in common."""
    seeds = tuple(sorted(one.keys() & other.keys()))
    if not seeds:
        return None
    differences = tuple(other[seed] - one[seed] for seed in seeds)
    interval, t_test_p = _t_test(differences)
    return PairedDifferences(
        seeds=seeds,
        differences=differences,
        interval=interval,
        t_test_p=t_test_p,
        sign_flip_p=_sign_flip(differences) if 1 < len(seeds) <= MOST_SEEDS_TO_FLIP else None,
    )


def _t_test(differences: Sequence[float]) -> tuple[tuple[float, float] | None, float | None]:
    """Return the confidence interval of the mean and the two-sided p-value of its being zero, if it can be told."""
    from scipy.special import stdtr, stdtrit

    count = len(differences)
    error = statistics.stdev(differences) / math.sqrt(count) if count > 1 else 0.0
    if math.isclose(error, 0, abs_tol=1e-9):
        return None, None
    mean, freedom = statistics.fmean(differences), count - 1
    reach = float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * error
    return (mean - reach, mean + reach), 2 * float(stdtr(freedom, -abs(mean / error)))


def _sign_flip(differences: Sequence[float]) -> float:
    """Return the share of all sign flips whose mean lies as far from zero as ours: exact, whatever the distribution."""
    flips = (np.arange(2 ** len(differences))[:, None] >> np.arange(len(differences))) & 1
    sums = np.abs((1 - 2 * flips) @ np.array(differences))
    return float((sums >= sums[0] - 1e-9).mean())
