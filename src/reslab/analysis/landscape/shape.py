"""What the shape of a landscape comes to in numbers; no torch."""

from typing import Any

import numpy as np

from reslab.analysis.landscape.grid import Floats, Grid

TIMES = 2.0  # the loss at the weights, at the radius that tells how sharp they lie


def find_extremes(grid: Grid, values: Floats) -> dict[str, Any]:
    """Return the smallest and the largest finite value and where they are, and how many values are not finite."""
    finite = np.isfinite(values)
    found: dict[str, Any] = {"not_finite": int((~finite).sum())}
    for name, choose, void in (("minimum", np.argmin, np.inf), ("maximum", np.argmax, -np.inf)):
        place = np.unravel_index(choose(np.where(finite, values, void)), values.shape)
        at = [float(axis[index]) for axis, index in zip(grid.axes, place, strict=True)]
        found[name] = {"value": float(values[place]), "at": at}
    return found


def measure_sharpness(grid: Grid, values: Floats, centre: float) -> dict[str, float | None]:
    """Return how far from the origin the loss is twice that of the centre, along each half of each axis.

    Between points it is interpolated; None where the landscape ends before. The grid must have the origin.
    """
    found: dict[str, float | None] = {}
    for number, axis in enumerate(grid.axes):
        others = tuple(int(np.flatnonzero(other == 0)[0]) for other in grid.axes[:number] + grid.axes[number + 1 :])
        middle = int(np.flatnonzero(axis == 0)[0])
        line = values[(*others[:number], slice(None), *others[number:])]
        for sign, half in (("+", slice(middle, None)), ("-", slice(middle, None, -1))):
            found[f"{sign}{number + 1}"] = _cross(np.abs(axis[half]), line[half], TIMES * centre)
    return found


def _cross(radii: Floats, values: Floats, level: float) -> float | None:
    """Return the first radius at which values reach a level; what is not finite lies above it."""
    above = ~(values < level)
    if not above.any():
        return None
    last = int(above.argmax())
    if last == 0 or not np.isfinite(values[last]):
        return float(radii[last])
    share = (level - values[last - 1]) / (values[last] - values[last - 1])
    return float(radii[last - 1] + share * (radii[last] - radii[last - 1]))


def measure_nonconvexity(grid: Grid, values: Floats) -> float | None:
    """Return the share of inner points where the smallest eigenvalue of the discrete Hessian is negative.

    Second differences, and of a surface the mixed one over the four corners; points beside values that are not finite
    do not count.
    """
    steps = [axis[1] - axis[0] for axis in grid.axes]
    inner = (slice(1, -1),) * values.ndim

    def shifted(*offsets: int) -> Floats:
        sides = zip(offsets, values.shape, strict=True)
        return values[tuple(slice(1 + offset, size - 1 + offset) for offset, size in sides)]

    with np.errstate(invalid="ignore", over="ignore"):
        if values.ndim == 1:
            smallest = (shifted(1) - 2 * values[inner] + shifted(-1)) / steps[0] ** 2
        else:
            first = (shifted(1, 0) - 2 * values[inner] + shifted(-1, 0)) / steps[0] ** 2
            second = (shifted(0, 1) - 2 * values[inner] + shifted(0, -1)) / steps[1] ** 2
            corners = shifted(1, 1) - shifted(1, -1) - shifted(-1, 1) + shifted(-1, -1)
            mixed = corners / (4 * steps[0] * steps[1])
            smallest = (first + second) / 2 - np.hypot((first - second) / 2, mixed)
    known = np.isfinite(smallest)
    return float((smallest[known] < 0).mean()) if known.any() else None
