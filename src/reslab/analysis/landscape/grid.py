"""The points of a landscape: where they lie, and in which order they are measured and kept; no torch."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
PIECE = 8  # points of a line between which it is kept
MARGIN = 0.1  # of what a path takes up, on either side of it


@dataclass(frozen=True)
class Grid:
    """A line of points, or a rectangle of them, by the coordinates of each axis."""

    axes: tuple[Floats, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many points each axis has."""
        return tuple(len(axis) for axis in self.axes)

    @property
    def rows(self) -> list[Floats]:
        """The points, (points, dimensions) a row: along the second axis for each place on the first.

        A line is taken a few points at a time.
        """
        *outer, last = self.axes
        if not outer:
            return [last[start : start + PIECE, None] for start in range(0, len(last), PIECE)]
        return [np.stack([np.full_like(last, place), last], 1) for place in outer[0]]


def spread_evenly(*, dimensions: int, points: int, span: float) -> Grid:
    """Return a grid as far as `span` to either side; its middle is exactly the origin."""
    axis = span * np.linspace(-1, 1, points)
    axis[points // 2] = 0.0
    return Grid((axis,) * dimensions)


def surround(path: Floats, *, points: int, span: float) -> Grid:
    """Return a grid around a path, (places, dimensions): `span` times what the path takes up and a margin."""
    low, high = path.min(0), path.max(0)
    middle, reach = (low + high) / 2, span * (0.5 + MARGIN) * (high - low)
    sides = zip(middle - reach, middle + reach, strict=True)
    return Grid(tuple(np.linspace(start, end, points) for start, end in sides))
