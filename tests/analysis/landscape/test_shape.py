"""Shapes in numbers, on surfaces whose answers are known."""

from __future__ import annotations

import numpy as np
import pytest

from reslab.analysis.landscape.grid import Grid, spread_evenly
from reslab.analysis.landscape.shape import find_extremes, measure_nonconvexity, measure_sharpness

LINE = spread_evenly(dimensions=1, points=41, span=2.0)
PLANE = spread_evenly(dimensions=2, points=41, span=2.0)


def mesh(grid: Grid) -> list[np.ndarray]:
    return [*np.meshgrid(*grid.axes, indexing="ij")]


def test_extremes_are_finite_values_and_their_places() -> None:
    """What overflowed is counted beside them."""
    one, other = mesh(PLANE)
    values = (one - 0.5) ** 2 + other**2
    values[0, 0], values[3, 4] = np.inf, np.nan
    found = find_extremes(PLANE, values)
    assert found["minimum"]["value"] == pytest.approx(0)
    assert found["minimum"]["at"] == pytest.approx([0.5, 0.0])
    assert found["maximum"]["at"] == pytest.approx([-2.0, 2.0])
    assert found["not_finite"] == 2


def test_the_radius_at_which_the_loss_doubles() -> None:
    """Of straight slopes exactly, by interpolation; where the surface ends before, there is none."""
    one, other = mesh(PLANE)
    values = 1 + np.where(one > 0, one / 0.93, -one / 1.7) + np.where(other > 0, other / 9, -other / 0.31)
    assert measure_sharpness(PLANE, values, 1.0) == {
        "+1": pytest.approx(0.93), "-1": pytest.approx(1.7), "+2": None, "-2": pytest.approx(0.31),
    }  # fmt: skip
    assert measure_sharpness(LINE, 1 + np.abs(LINE.axes[0]) / 0.5, 1.0) == {
        "+1": pytest.approx(0.5), "-1": pytest.approx(0.5),
    }  # fmt: skip


def test_overflow_is_above_any_level() -> None:
    """The radius is then that of the first point that is not finite."""
    values = np.where(np.abs(LINE.axes[0]) > 1, np.inf, 1.0)
    assert measure_sharpness(LINE, values, 1.0)["+1"] == pytest.approx(1.1)


def test_where_surfaces_are_not_convex() -> None:
    """Nowhere in a bowl, everywhere on a saddle, half of a wave; a diagonal saddle is found by the mixed difference."""
    one, other = mesh(PLANE)
    assert measure_nonconvexity(PLANE, one**2 + 3 * other**2) == 0
    assert measure_nonconvexity(PLANE, one**2 - other**2) == 1
    assert measure_nonconvexity(PLANE, one**2 + other**2 + 2.5 * one * other) == 1
    wave = np.cos(np.pi * LINE.axes[0] * 1.0001)
    assert measure_nonconvexity(LINE, wave) == pytest.approx(0.5, abs=0.03)
    values = one**2 + other**2
    values[5] = np.nan
    assert measure_nonconvexity(PLANE, values) == 0
