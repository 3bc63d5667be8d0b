"""The colours can be told from the page, and from each other by everyone."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from reslab.report.palette import DARK, LIGHT

# What a colour becomes without one kind of cone, in linear RGB (Machado, Oliveira, Fernandes, 2009).
SIGHTS = {
    "usual": np.eye(3),
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "tritanopia": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour: str) -> np.ndarray:
    parts = np.array([int(colour[first : first + 2], 16) for first in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(colour: np.ndarray) -> np.ndarray:
    x, y, z = np.cbrt(np.maximum(TO_XYZ @ colour / TO_XYZ.sum(1), 0.008856))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize(("colours", "paper"), [(LIGHT, "#ffffff"), (DARK, "#14171c")])
def test_lines_stand_out_from_the_page(colours: tuple[str, ...], paper: str) -> None:
    """A contrast of 3 at least."""
    for colour in colours:
        dim, bright = sorted((linear(colour) @ TO_XYZ[1], linear(paper) @ TO_XYZ[1]))
        assert (bright + 0.05) / (dim + 0.05) >= 3, colour


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_no_two_colours_look_alike(colours: tuple[str, ...], sight: str) -> None:
    """Ten units of CIELAB apart at least, five times what the eye can just tell."""
    seen = [lab(np.clip(np.array(SIGHTS[sight]) @ linear(colour), 0, 1)) for colour in colours]
    for (one, a), (other, b) in itertools.combinations(zip(colours, seen, strict=True), 2):
        assert np.linalg.norm(a - b) >= 10, f"{one} and {other}"
