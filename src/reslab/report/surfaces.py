"""A landscape as SVG for print: contours of the loss with the path on them, and the surface in three dimensions.

The same findings give the same bytes, as all figures (figures.py) do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reslab.report.figures import STYLE, write_svg
from reslab.report.groups import LIGHT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVELS = 16
MANY_TIMES = 20  # as in the panel: then levels are of the logarithm
SMOOTH = 40  # patches along a side of the surface, at most


def draw_landscape(found: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return the SVG of a surface, by what is stored of it."""
    from matplotlib import style

    with style.context(["default", STYLE]):
        return write_svg(_draw(found, arrays))


def _draw(found: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Figure:
    from matplotlib.figure import Figure

    across, up = arrays["axis_1"], arrays["axis_2"]
    loss = np.ma.masked_invalid(arrays["loss"].T)
    steep = bool(0 < loss.min() < loss.max() / MANY_TIMES)
    heights = np.ma.log10(loss) if steep else loss
    levels = np.linspace(heights.min(), heights.max(), LEVELS)
    along = found["settings"]["directions"] == "pca"
    names = [f"{'component' if along else 'direction'} {number}" for number in (1, 2)]
    figure = Figure(figsize=(7.2, 3.2), layout="constrained")
    flat, deep = figure.add_subplot(1, 2, 1), figure.add_subplot(1, 2, 2, projection="3d")
    flat.contourf(across, up, heights, levels=levels, cmap="Blues", alpha=0.85)
    lines = flat.contour(across, up, heights, levels=levels, colors="#333333", linewidths=0.5)
    flat.clabel(lines, levels[::3], fmt=lambda height: _tell(height, steep), fontsize=7)
    flat.plot(0, 0, "+", color="black", markersize=9)
    flat.grid(visible=False)
    flat.set(xlabel=names[0], ylabel=names[1])
    axes: Any = deep  # matplotlib types no three-dimensional axes
    grid = np.meshgrid(across, up)
    axes.plot_surface(*grid, heights, cmap="Blues", rcount=SMOOTH, ccount=SMOOTH, linewidth=0.1, edgecolor="#555555")
    axes.zaxis.set_major_formatter(lambda height, _: _tell(height, steep))
    axes.set(xlabel=names[0], ylabel=names[1], title="loss")
    axes.locator_params(nbins=5)
    axes.tick_params(labelsize=7)
    axes.set_box_aspect(None, zoom=0.9)
    if along:
        path = found["path"]
        places = np.array(path["coordinates"])
        losses = np.array([np.nan if loss is None else loss for loss in path["loss"]])
        flat.plot(*places.T, ".-", color=LIGHT[1], linewidth=1.2)
        axes.plot(*places.T, np.log10(losses) if steep else losses, ".-", color=LIGHT[1], linewidth=1.2, zorder=5)
    return figure


def _tell(height: float, steep: bool) -> str:
    loss = 10**height if steep else height
    return f"{loss:.3g}" if loss >= 100 else f"{loss:.2g}"
