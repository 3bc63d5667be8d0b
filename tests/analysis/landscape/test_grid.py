"""Where the points of a landscape lie."""

from __future__ import annotations

import numpy as np
import pytest

from reslab.analysis.landscape.grid import spread_evenly, surround


@pytest.mark.parametrize("dimensions", [1, 2])
def test_the_middle_is_exactly_the_origin(dimensions: int) -> None:
    """However the span rounds, and as far on either side."""
    grid = spread_evenly(dimensions=dimensions, points=7, span=0.7)
    assert grid.shape == (7,) * dimensions
    for axis in grid.axes:
        assert axis[3] == 0.0
        assert axis[[0, -1]].tolist() == [-0.7, 0.7]
        assert np.allclose(axis, -axis[::-1])


@pytest.mark.parametrize("dimensions", [1, 2])
def test_rows_are_all_points_in_order(dimensions: int) -> None:
    """A value for each, in the rows' order, takes the grid's shape."""
    grid = spread_evenly(dimensions=dimensions, points=11, span=1.0)
    points = np.concatenate(grid.rows)
    assert all(row.shape[1] == dimensions for row in grid.rows)
    for number, mesh in enumerate(np.meshgrid(*grid.axes, indexing="ij")):
        assert np.array_equal(points[:, number].reshape(grid.shape), mesh)


def test_a_path_is_surrounded() -> None:
    """With a tenth of what it takes up on every side."""
    grid = surround(np.array([[4.0, -1.0], [0.0, 0.0], [2.0, 1.0]]), points=5, span=1.0)
    assert grid.axes[0][[0, -1]] == pytest.approx([-0.4, 4.4])
    assert grid.axes[1][[0, -1]] == pytest.approx([-1.2, 1.2])
