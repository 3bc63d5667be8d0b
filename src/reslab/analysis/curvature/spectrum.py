"""What Lanczos says of a spectrum: its largest eigenvalues, its trace and its density, each with how sure it is.

A start's tridiagonal matrix has eigenvalues, the nodes, with a share each of the start, the weights: a Gauss quadrature
of the density as the start sees it. For random starts the mean over them is the density itself (Lin, Saad and Yang,
2016; Ghorbani et al., 2019).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from reslab.analysis.curvature.lanczos import Floats, Tridiagonal

POINTS = 513  # at which densities are told


@dataclass(frozen=True)
class Estimate:
    """A value and how far off it may be."""

    value: float
    error: float


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
    falling = zip(best.nodes[::-1][:count], best.errors[::-1][:count], strict=True)
    return [Estimate(float(value), float(error)) for value, error in falling]


def find_smallest(ritz: list[Ritz]) -> Estimate:
    """Return the smallest eigenvalue, from the start that knows it best."""
    best = min(ritz, key=lambda one: float(one.errors[0]))
    return Estimate(float(best.nodes[0]), float(best.errors[0]))


def estimate_trace(found: Tridiagonal, size: int) -> Estimate:
    """Return the trace by Hutchinson: the mean of what random signs find, and its standard error."""
    return average(found.alphas[0] * size)


def estimate_squares(found: Tridiagonal, size: int) -> Estimate:
    """Return the sum of the squared eigenvalues, from the same products' lengths."""
    return average((found.alphas[0] ** 2 + found.betas[0] ** 2) * size)


def average(values: Floats) -> Estimate:
    """Return the mean of random values and its standard error; of one alone nothing is known."""
    error = float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return Estimate(float(values.mean()), error)


def estimate_density(ritz: list[Ritz], *, broadening: float) -> tuple[Floats, Floats, float]:
    """Return points, the density at them, and the width of the Gaussians that stand for eigenvalues.

    That is the `broadening` times the range of the nodes. The density is of one eigenvalue: its integral is 1.
    """
    nodes = np.concatenate([one.nodes for one in ritz])
    weights = np.concatenate([one.weights for one in ritz]) / len(ritz)
    width = broadening * float(np.ptp(nodes)) or broadening
    points = np.linspace(nodes.min() - 5 * width, nodes.max() + 5 * width, POINTS)
    bells = np.exp(-0.5 * ((points[:, None] - nodes) / width) ** 2) / (width * math.sqrt(2 * math.pi))
    return points, bells @ weights, width
