"""Both laws fitted to every phase of a training, with intervals; how long until a value is reached; no torch."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from reslab.analysis.convergence.laws import LAWS, Fit, Floats, LawName, fit_law, held_out_error, resample
from reslab.analysis.convergence.phases import Phase, find_phases
from reslab.analysis.convergence.settings import Convergence

THOUSAND = 1000  # iterations, that rates are given for


def fit_phases(
    log: Sequence[Mapping[str, float]],
    name: str,
    settings: Convergence,
    *,
    target: Callable[[Phase], float | None] = lambda phase: None,
) -> list[dict[str, Any]]:
    """Return what the laws say of one logged number in each phase of constant rate, and when its target is reached."""
    return [_fit_phase(phase, name, settings, target(phase)) for phase in find_phases(log, least=settings.least)]


def last_value(values: Floats) -> float:
    """Return where a curve has come to: the mean of its last quarter, which says more than its last test."""
    return float(values[-max(1, len(values) // 4) :].mean())


def _fit_phase(phase: Phase, name: str, settings: Convergence, target: float | None) -> dict[str, Any]:
    times, values = phase.curve(name, skip=settings.skip)
    told: dict[str, Any] = {
        "learning_rate": phase.learning_rate,
        "from_step": phase.start,
        "to_step": phase.stop,
        "tests": len(times),
        "last": last_value(values) if len(values) else None,
    }
    if len(times) < 5:  # three parameters, and something left to tell how well they do
        return told | {"laws": {}, "better": None}
    laws = {law: fit_with_interval(law, times, values, settings, target=target) for law in LAWS}
    return told | {"laws": laws, "better": min(laws, key=lambda law: laws[law]["residual"])}


def fit_with_interval(
    law: LawName, times: Floats, values: Floats, settings: Convergence, *, target: float | None = None
) -> dict[str, Any]:
    """Return a law's parameters with their intervals, how well it fits, and when a value is reached."""
    fit = fit_law(law, times, values[None])
    again = resample(fit, times, values, resamples=settings.resamples, block=settings.block, seed=settings.seed)
    edges = [(1 - settings.confidence) / 2, (1 + settings.confidence) / 2]
    residual = float(np.sqrt(np.mean((fit.values(times)[0] - values) ** 2)))
    told: dict[str, Any] = {"residual": residual, "held_out": held_out_error(law, times, values)}
    told["left_at_end"] = float(fit.values(times[-1:])[0, 0] - fit.floor[0])
    told |= _bounded("floor", fit.floor, again.floor, edges)
    told |= _bounded("rate", in_thousands(fit), in_thousands(again), edges)
    told["determined"] = bool(fit.determined[0])
    if target is not None:
        told["reach"] = when_reached(fit, again, target, edges)
    return told


def when_reached(fit: Fit, again: Fit, target: float, edges: Sequence[float]) -> dict[str, Any]:
    """Return after how many iterations a value is reached, None for never, and in what share of the resamples it is."""
    drawn = again.reaches(target)
    low, high = np.quantile(drawn, edges, method="inverted_cdf")
    return {
        "value": target,
        "iterations": _finite(fit.reaches(target)[0]),
        "low": _finite(low),
        "high": _finite(high),
        "reached_share": float(np.isfinite(drawn).mean()),
    }


def in_thousands(fit: Fit) -> Floats:
    """Return an exponential's rate in 1,000 iterations; a power needs no unit."""
    return fit.rate * (THOUSAND / fit.scale) if fit.law == "exponential" else fit.rate


def _bounded(name: str, value: Floats, drawn: Floats, edges: Sequence[float]) -> dict[str, float]:
    low, high = np.quantile(drawn, edges)
    return {name: float(value[0]), f"{name}_low": float(low), f"{name}_high": float(high)}


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
