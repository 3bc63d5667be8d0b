"""Fits of several runs side by side: whether rates fall with depth, and how long a plain network would need.

Paper, section 4.1: "We conjecture that the deep plain nets may have exponentially low convergence rates." An
exponentially low rate is one whose logarithm falls along a line with depth; the slope of that line is measured.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from scipy.stats import t as student

from reslab.analysis.convergence.fitting import in_thousands, last_value
from reslab.analysis.convergence.laws import LAWS, Fit, LawName, fit_law, resample
from reslab.analysis.convergence.phases import Phase, find_phases
from reslab.analysis.convergence.settings import Convergence

TOGETHER = 1e-3  # learning rates as near as this, relatively, are one


@dataclass(frozen=True, kw_only=True)
class Training:
    """One run: its network, how deep it is, whether it has shortcuts, and its log."""

    network: str
    depth: int
    residual: bool
    log: Sequence[Mapping[str, float]]


@dataclass(frozen=True)
class FittedPhase:
    """One phase of one run with both laws; the rate that the run `began` with is that of its first phase."""

    training: Training
    phase: Phase
    began: float
    fits: Mapping[LawName, Fit]
    squares: Mapping[LawName, float]
    last: float

    def rate(self, law: LawName) -> float:
        """The rate in 1,000 iterations; a power needs no unit."""
        return float(in_thousands(self.fits[law])[0])


def compare_trainings(trainings: Sequence[Training], name: str, settings: Convergence) -> list[dict[str, Any]]:
    """Return for each learning rate what its phases say: the law that fits them all best, rates by depth, and waits.

    The same rate is another phase where the training began with another one. A law is chosen for all runs together, so
    that their rates are of one kind: the one with the smaller sum of squares of relative residuals.
    """
    fitted = [found for training in trainings for found in _fit_training(training, name, settings)]
    fitted.sort(key=_phase_of)
    groups = groupby(fitted, key=_phase_of)
    return [_tell_phase(list(group), name, settings) for _, group in groups]


def _phase_of(found: FittedPhase) -> tuple[int, int]:
    """Return what tells phases apart, the largest rates first; equal ones may be rounded differently."""
    first, second = (-round(math.log(rate) / TOGETHER) for rate in (found.began, found.phase.learning_rate))
    return first, second


def _fit_training(training: Training, name: str, settings: Convergence) -> list[FittedPhase]:
    found = []
    phases = find_phases(training.log, least=settings.least)
    for phase in phases:
        times, values = phase.curve(name, skip=settings.skip)
        if len(times) >= 5:
            fits: dict[LawName, Fit] = {law: fit_law(law, times, values[None]) for law in LAWS}
            squares: dict[LawName, float] = {
                law: float((((fit.values(times)[0] - values) / values.mean()) ** 2).sum()) for law, fit in fits.items()
            }
            found.append(FittedPhase(training, phase, phases[0].learning_rate, fits, squares, last_value(values)))
    return found


def _tell_phase(fitted: list[FittedPhase], name: str, settings: Convergence) -> dict[str, Any]:
    law = min(LAWS, key=lambda law: sum(found.squares[law] for found in fitted))
    rows = [_tell_network(law, list(group)) for _, group in _by_network(fitted)]
    return {
        "began_with": fitted[0].began,
        "learning_rate": fitted[0].phase.learning_rate,
        "law": law,
        "networks": rows,
        "slopes": {
            "residual" if residual else "plain": slope
            for residual in (False, True)
            if (slope := _slope_of(law, _with(fitted, residual), settings))
        },
        "waits": [
            wait
            for _, group in _by_network(_with(fitted, False))
            for wait in _tell_waits(list(group), fitted, name, settings)
        ],
    }


def _slope_of(law: LawName, members: Sequence[FittedPhase], settings: Convergence) -> dict[str, Any] | None:
    members = [found for found in members if found.fits[law].determined[0]]
    return fit_slope(
        [found.training.depth for found in members],
        [found.rate(law) for found in members],
        confidence=settings.confidence,
    )


def _with(fitted: Sequence[FittedPhase], residual: bool) -> list[FittedPhase]:
    return [found for found in fitted if found.training.residual is residual]


def _by_network(fitted: Sequence[FittedPhase]) -> Iterator[tuple[Any, Iterator[FittedPhase]]]:
    return groupby(sorted(fitted, key=_network_of), key=_network_of)


def _network_of(found: FittedPhase) -> tuple[bool, int, str]:
    return found.training.residual, found.training.depth, found.training.network


def _tell_network(law: LawName, members: list[FittedPhase]) -> dict[str, Any]:
    training = members[0].training
    floors = np.array([found.fits[law].floor[0] for found in members])
    rates = np.array([found.rate(law) for found in members if found.fits[law].determined[0]])
    lasts = np.array([found.last for found in members])
    told: dict[str, Any] = {"network": training.network, "depth": training.depth, "residual": training.residual}
    for name, values in (("floor", floors), ("rate", rates), ("last", lasts)):
        told[name] = float(values.mean()) if len(values) else None
        told[f"{name}_std"] = float(values.std(ddof=1)) if len(values) > 1 else None
    return told | {"runs": len(members), "with_rate": len(rates)}


def fit_slope(depths: Sequence[int], rates: Sequence[float], *, confidence: float) -> dict[str, Any] | None:
    """Return by which factor rates change for ten more layers, with Student's interval; None without a spread."""
    if len(depths) < 3 or len(set(depths)) < 2:
        return None
    x, y = np.array(depths, np.float64), np.log(rates)
    count, centred = len(x), x - x.mean()
    slope = float(centred @ y / (centred @ centred))
    residuals = y - y.mean() - slope * centred
    error = math.sqrt(float(residuals @ residuals) / (count - 2) / float(centred @ centred))
    width = float(student.ppf((1 + confidence) / 2, count - 2)) * error
    factor, low, high = (math.exp(10 * value) for value in (slope, slope - width, slope + width))
    return {"factor_per_ten_layers": factor, "low": low, "high": high, "runs": count}


def _tell_waits(
    plain: list[FittedPhase], fitted: Sequence[FittedPhase], name: str, settings: Convergence
) -> list[dict[str, Any]]:
    """Return by each law how long a plain network needs to its twin's mean at the end of the same phase."""
    depth = plain[0].training.depth
    twins = [found for found in _with(fitted, True) if found.training.depth == depth]
    if not twins:
        return []
    target = float(np.mean([found.last for found in twins]))
    edges = [(1 - settings.confidence) / 2, (1 + settings.confidence) / 2]
    waits = []
    for law in LAWS:
        drawn = [_draw(found, law, name, settings, seed=settings.seed + index) for index, found in enumerate(plain)]
        times = np.concatenate([fit.reaches(target) for fit in drawn])
        single = np.array([found.fits[law].reaches(target)[0] for found in plain])
        low, middle, high = np.quantile(times, [edges[0], 0.5, edges[1]], method="inverted_cdf")
        waits.append(
            {
                "network": plain[0].training.network,
                "depth": depth,
                "law": law,
                "target": target,
                "phase_iterations": plain[0].phase.iterations,
                "runs": len(plain),
                "runs_reaching": int(np.isfinite(single).sum()),
                "iterations": _finite(middle),
                "low": _finite(low),
                "high": _finite(high),
                "reached_share": float(np.isfinite(times).mean()),
            }
        )
    return waits


def _draw(found: FittedPhase, law: LawName, name: str, settings: Convergence, *, seed: int) -> Fit:
    times, values = found.phase.curve(name, skip=settings.skip)
    return resample(found.fits[law], times, values, resamples=settings.resamples, block=settings.block, seed=seed)


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
