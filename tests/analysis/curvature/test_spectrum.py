"""What Lanczos says of a spectrum, against a whole one."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.analysis.curvature.problems import dense_hessian, draw, make_network, make_problem

from reslab.analysis.curvature.lanczos import Lanczos, Tridiagonal, draw_probes
from reslab.analysis.curvature.spectrum import (
    average,
    estimate_density,
    find_largest,
    find_ritz,
    find_smallest,
    standard_error,
)


@pytest.fixture(scope="module")
def matrix() -> torch.Tensor:
    """The whole Hessian of a small network."""
    return dense_hessian(make_problem(make_network()))


def run(matrix: torch.Tensor, *, probes: int, steps: int) -> Tridiagonal:
    """Lanczos from random signs."""
    state = Lanczos(draw_probes(len(matrix), seed=0, numbers=range(probes), like=matrix), steps=steps)
    while state.done < state.steps:
        state.advance(lambda rows: rows @ matrix)
    return state.found


def test_the_largest_eigenvalues_and_the_smallest(matrix: torch.Tensor) -> None:
    """Within their bounds, which are narrow."""
    found = run(matrix, probes=2, steps=60)
    ritz = [find_ritz(found, probe) for probe in (0, 1)]
    values = torch.linalg.eigvalsh(matrix).numpy()
    largest = find_largest(ritz, 5)
    for estimate, value in zip([*largest, find_smallest(ritz)], [*values[::-1][:5], values[0]], strict=True):
        assert estimate.value == pytest.approx(value, rel=1e-6)
        assert estimate.low - 1e-10 <= value <= estimate.high + 1e-10  # pyright: ignore[reportOptionalOperand]
    assert len(find_largest(ritz, 500)) == 60


def test_means_come_with_students_interval() -> None:
    """Of 200 values nearly the Gaussian one."""
    values = np.random.default_rng(0).normal(3, 2, 200)
    mean, error = average(values, 0.95), standard_error(values)
    assert error is not None
    assert error == pytest.approx(values.std(ddof=1) / 200**0.5)
    assert mean.low is not None
    assert mean.high is not None
    assert mean.value == pytest.approx(values.mean())
    assert (mean.high - mean.low) / 2 == pytest.approx(1.972 * error, rel=1e-3)


def test_one_probe_alone_has_no_bounds() -> None:
    """Nothing is known of its spread."""
    assert average(np.array([3.0]), 0.95).low is None
    assert standard_error(np.array([3.0])) is None


def test_the_moments_of_the_density_are_those_of_the_probes(matrix: torch.Tensor) -> None:
    """Nodes and weights are a Gauss quadrature: with 6 steps exact to the eleventh moment."""
    found = run(matrix, probes=3, steps=6)
    signs = draw_probes(len(matrix), seed=0, numbers=range(3), like=matrix) / len(matrix) ** 0.5
    for probe in range(3):
        ritz, moved = find_ritz(found, probe), signs[probe]
        for power in range(12):
            expected = float(signs[probe] @ moved)
            assert float(ritz.weights @ ritz.nodes**power) == pytest.approx(expected, rel=1e-8)
            moved = matrix @ moved


def test_the_density_is_that_of_the_eigenvalues() -> None:
    """Its integral is 1; with every step and many probes it is a Gaussian on each eigenvalue."""
    matrix = draw((30, 30), 0)
    matrix = matrix @ matrix.T
    found = run(matrix, probes=100, steps=len(matrix))
    ritz = [find_ritz(found, probe) for probe in range(100)]
    points, density, width = estimate_density(ritz, broadening=0.05)
    assert np.trapezoid(density, points) == pytest.approx(1, abs=1e-3)
    values = torch.linalg.eigvalsh(matrix).numpy()
    assert width == pytest.approx(0.05 * np.ptp(values), rel=1e-6)
    bells = np.exp(-0.5 * ((points[:, None] - values) / width) ** 2) / (width * np.sqrt(2 * np.pi))
    expected = bells.mean(1)
    assert np.abs(density - expected).max() < 0.1 * expected.max()


def test_weight_decay_shifts_the_spectrum_by_its_value(matrix: torch.Tensor) -> None:
    """Every node, and no weight."""
    before, after = (run(matrix + decay * torch.eye(len(matrix)), probes=2, steps=10) for decay in (0, 0.5))
    for probe in (0, 1):
        one, other = find_ritz(before, probe), find_ritz(after, probe)
        assert np.allclose(other.nodes - one.nodes, 0.5, atol=1e-10)
        assert np.allclose(other.weights, one.weights, atol=1e-8)
