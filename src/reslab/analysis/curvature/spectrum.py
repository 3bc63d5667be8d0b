"""What Lanczos says of a spectrum: its largest eigenvalues, its trace and its density, each with how sure it is.

A start's tridiagonal matrix has eigenvalues, the nodes, with a share each of the start, the weights: a Gauss quadrature
of the density as the start sees it. For random starts the mean over them is the density itself (Lin, Saad and Yang,
2016; Ghorbani et al., 2019).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from reslab.analysis.curvature.density import smear
from reslab.analysis.curvature.lanczos import Floats, Tridiagonal
from reslab.analysis.curvature.panel import Estimate

POINTS = 513  # at which densities are told


@dataclass(frozen=True)
class Ritz:
    """Approximate eigenvalues from one start, rising: within `errors` of each there is an eigenvalue."""

    nodes: Floats
    weights: Floats
    errors: Floats


def find_ritz(found: Tridiagonal, start: int) -> Ritz:
    """Solve the tridiagonal matrix of one start."""
    alphas, betas = found.alphas[:, start], found.betas[:, start]
    ends = np.flatnonzero(betas == 0)
    steps = ends[0] + 1 if len(ends) else len(alphas)
    beside = betas[: steps - 1]
    nodes, vectors = np.linalg.eigh(np.diag(alphas[:steps]) + np.diag(beside, 1) + np.diag(beside, -1))
    return Ritz(nodes, vectors[0] ** 2, np.abs(betas[steps - 1] * vectors[-1]))


def find_largest(ritz: list[Ritz], count: int) -> list[Estimate]:
    """Return the largest eigenvalues, falling, from the start that knows them best."""
    best = min(ritz, key=lambda one: float(one.errors[-count:].max()))
    return [_bound(best, place) for place in range(-1, -1 - min(count, len(best.nodes)), -1)]


def find_smallest(ritz: list[Ritz]) -> Estimate:
    """Return the smallest eigenvalue, from the start that knows it best."""
    return _bound(min(ritz, key=lambda one: float(one.errors[0])), 0)


def _bound(ritz: Ritz, place: int) -> Estimate:
    value, error = float(ritz.nodes[place]), float(ritz.errors[place])
    return Estimate(value, value - error, value + error)


def average(values: Floats, confidence: float) -> Estimate:
    """Return the mean of random values and its interval by Student's t; one alone has none."""
    mean, error = float(values.mean()), standard_error(values)
    if error is None:
        return Estimate(mean, None, None)
    reach = float(stdtrit(len(values) - 1, (1 + confidence) / 2)) * error
    return Estimate(mean, mean - reach, mean + reach)


def standard_error(values: Floats) -> float | None:
    """Return the standard error of the mean of random values, of which there are several."""
    return float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None


def estimate_density(ritz: list[Ritz], *, broadening: float) -> tuple[Floats, Floats, float]:
    """Return points, the density at them, and the width of the Gaussians that stand for eigenvalues.

    That is the `broadening` times the range of the nodes. The density is of one eigenvalue: its integral is 1.
    """
    nodes = np.concatenate([one.nodes for one in ritz])
    weights = np.concatenate([one.weights for one in ritz]) / len(ritz)
    width = broadening * float(np.ptp(nodes)) or broadening
    points = np.linspace(nodes.min() - 5 * width, nodes.max() + 5 * width, POINTS)
    return points, smear(points, nodes, weights, width=width), width
