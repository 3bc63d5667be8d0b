"""Landscapes for print."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
from tests.analysis.landscape.test_printed import FOUND, PATH, SETTINGS

from reslab.report.surfaces import draw_landscape

AXIS = np.linspace(-1, 1, 7)
BOWL = 0.3 * np.exp(4 * (AXIS[:, None] ** 2 + AXIS**2))
ARRAYS = {"axis_1": AXIS, "axis_2": AXIS, "loss": BOWL, "wrong": BOWL}
ALONG = FOUND | {"settings": SETTINGS | {"directions": "pca"}, "path": PATH}


def test_the_same_findings_give_the_same_bytes() -> None:
    """Valid SVG of contours and a surface; with values that are not finite too."""
    first = draw_landscape(FOUND, ARRAYS)
    assert draw_landscape(FOUND, ARRAYS) == first
    assert ET.fromstring(first).tag.endswith("svg")
    broken = BOWL.copy()
    broken[0, 0] = np.inf
    assert draw_landscape(FOUND, ARRAYS | {"loss": broken}) != first


def test_a_path_is_drawn_on_its_plane() -> None:
    """In the path's own colour, which nothing else has."""
    colour = "#d55e00"
    assert colour not in draw_landscape(FOUND, ARRAYS)
    assert colour in draw_landscape(ALONG, ARRAYS)
