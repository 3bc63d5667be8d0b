"""Densities of spectra."""

from __future__ import annotations

import numpy as np
import pytest

from reslab.analysis.curvature.density import smear


def test_a_density_has_the_mass_of_its_weights() -> None:
    """Around the nodes, and nothing far away."""
    points = np.linspace(-2, 3, 5001)
    density = smear(points, np.array([0.0, 1.0]), np.array([0.9, 0.1]), width=0.05)
    assert density.sum() * (points[1] - points[0]) == pytest.approx(1)
    assert density[points > 0.5].sum() / density.sum() == pytest.approx(0.1)
    assert density[0] < 1e-100
