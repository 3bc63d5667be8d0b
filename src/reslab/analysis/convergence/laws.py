"""Laws of decay fitted to curves: floor + amplitude * decay(t), exponential or by a power of t; numpy alone.

Floor and amplitude are not negative. For a given rate they are a linear least-squares problem in closed form, so the
rate is found by a search over a grid that is narrowed around its best: no start to choose, no local minimum to end in.
Intervals are of a bootstrap that resamples residuals in blocks, because those of neighbouring tests are alike.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
LawName: TypeAlias = Literal["exponential", "power"]
GRID, ZOOM, ROUNDS = 160, 9, 6
HELD_OUT = 1 / 3  # of a curve, predicted from the rest
LONGEST = 1e9  # iterations; what takes longer is not reached
EDGE = 1.02  # a rate so near to the end of where it is sought is not told by the curve


@dataclass(frozen=True)
class Law:
    """A decay from about 1 to 0: `decay(rate, t)`, and the rates among which it is sought."""

    decay: Callable[[Floats, Floats], Floats]
    until: Callable[[Floats, Floats], Floats]
    least: float
    most: float


# Time is in units of the curve's length: rates from a hundredth of it to what is over between two tests.
LAWS: dict[LawName, Law] = {
    "exponential": Law(
        decay=lambda rate, time: np.exp(-rate * time),
        until=lambda rate, left: -np.log(left) / rate,
        least=0.01,
        most=300,
    ),
    "power": Law(
        decay=lambda rate, time: time**-rate, until=lambda rate, left: left ** (-1 / rate), least=0.01, most=20
    ),
}


@dataclass(frozen=True)
class Fit:
    """Parameters of one law for one curve or, one after the other, many; time is in units of `scale`."""

    law: LawName
    scale: float
    floor: Floats
    amplitude: Floats
    rate: Floats

    def values(self, times: Floats) -> Floats:
        """Return what the law says at these times, a row for each curve."""
        decay = LAWS[self.law].decay(self.rate[:, None], times / self.scale)
        return self.floor[:, None] + self.amplitude[:, None] * decay

    def reaches(self, target: float) -> Floats:
        """Return when each curve comes down to a value; infinity where not within a billion iterations."""
        left = np.maximum(target - self.floor, 0) / np.where(self.amplitude > 0, self.amplitude, np.nan)
        with np.errstate(divide="ignore", over="ignore"):
            times = self.scale * LAWS[self.law].until(self.rate, np.where(left > 0, left, np.nan))
        times = np.where(times <= LONGEST, np.maximum(times, 0), np.inf)
        return np.where((self.amplitude == 0) & (self.floor <= target), 0.0, times)

    @property
    def determined(self) -> NDArray[np.bool_]:
        """Whether each curve tells a rate; one that is flat, or straight, does not."""
        law = LAWS[self.law]
        return (self.amplitude > 0) & (self.rate > law.least * EDGE) & (self.rate < law.most / EDGE)


def fit_law(law: LawName, times: Floats, values: Floats) -> Fit:
    """Fit a law to curves, the rows of `values`, by least squares."""
    scale = float(times[-1])
    known, time = LAWS[law], times / scale
    rates = np.geomspace(known.least, known.most, GRID)
    squares = _solve(known.decay(rates[:, None], time)[None], values)[2]
    rate, step = rates[squares.argmin(1)], (known.most / known.least) ** (1 / (GRID - 1))
    for _ in range(ROUNDS):
        near = np.clip(rate[:, None] * step ** np.linspace(-1, 1, ZOOM), known.least, known.most)
        squares = _solve(known.decay(near[..., None], time), values)[2]
        rate = near[np.arange(len(near)), squares.argmin(1)]
        step = step ** (2 / (ZOOM - 1))
    floor, amplitude, _ = (found[:, 0] for found in _solve(known.decay(rate[:, None, None], time), values))
    return Fit(law, scale, floor, amplitude, rate)


def _solve(decays: Floats, values: Floats) -> tuple[Floats, Floats, Floats]:
    """Return floor, amplitude and sum of squares for each curve and each of its decays (curves, rates, times)."""
    y = values[:, None]
    mean_y, mean_decay = y.mean(2), decays.mean(2)
    centred = decays - mean_decay[..., None]
    along = (centred * (y - mean_y[..., None])).sum(2)
    amplitude = np.maximum(along / np.maximum((centred**2).sum(2), 1e-300), 0)
    floor = mean_y - amplitude * mean_decay
    # Below zero there is no error: the floor is zero then, and the amplitude the best for that.
    grounded = np.maximum((decays * y).sum(2) / np.maximum((decays**2).sum(2), 1e-300), 0)
    amplitude, floor = np.where(floor < 0, grounded, amplitude), np.maximum(floor, 0)
    residuals = y - floor[..., None] - amplitude[..., None] * decays
    return floor, amplitude, (residuals**2).sum(2)


def resample(fit: Fit, times: Floats, values: Floats, *, resamples: int, block: int, seed: int) -> Fit:
    """Fit again to the fitted curve with its own residuals in other places, `block` neighbours at a time."""
    count = len(times)
    fitted = fit.values(times)[0]
    residuals = values - fitted
    residuals = (residuals - residuals.mean()) * math.sqrt(count / max(1, count - 3))
    block = min(block, count)
    numbers = np.random.default_rng(seed)
    starts = numbers.integers(0, count - block + 1, (resamples, -(-count // block)))
    places = (starts[..., None] + np.arange(block)).reshape(resamples, -1)[:, :count]
    return fit_law(fit.law, times, fitted + residuals[places])


def held_out_error(law: LawName, times: Floats, values: Floats) -> float:
    """Return how far off the law is, by root mean square, at the end of a curve when fitted to the beginning."""
    seen = max(4, round(len(times) * (1 - HELD_OUT)))
    fit = fit_law(law, times[:seen], values[None, :seen])
    return float(np.sqrt(np.mean((fit.values(times[seen:])[0] - values[seen:]) ** 2)))
