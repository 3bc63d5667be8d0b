"""What pages are given of curvature."""

from __future__ import annotations

import numpy as np
import pytest
from tests.analysis.curvature.found import FOUND

from reslab.analysis.catalogue import Mark
from reslab.analysis.curvature.density import smear
from reslab.analysis.curvature.panel import PANEL, Estimate
from reslab.errors import UserError


def test_findings_are_read_as_they_are_stored() -> None:
    """Eigenvalues by rank, conditions by block; more may be stored than is shown."""
    found = PANEL.read(FOUND)
    assert (found.data, found.images, found.confidence) == ("cifar10", 4096, 0.95)
    views = {view.key: found.marks_in(view) for view in PANEL.views}
    assert views["largest"] == found.marks == [Mark("1", 31, 30.999, 31.001), Mark("2", 20, 19.99, 20.01)]
    assert views["as_is"] == [Mark("conv2_1", 90, 60, 90), Mark("conv3_1", 200, 200 / 1.5, 200)]
    assert views["without"] == [Mark("conv2_1", 80, 80 / 1.5, 80)]


def test_a_bound_that_is_not_known_is_not_drawn() -> None:
    """The value stands in its place."""
    assert Estimate(3, None, 4).mark("here") == Mark("here", 3, 3, 4)


def test_what_lacks_a_number_is_refused() -> None:
    """By the name of what it lacks."""
    with pytest.raises(UserError, match="lacks largest"):
        PANEL.read({name: value for name, value in FOUND.items() if name != "largest"})


def test_the_density_has_the_spread_of_the_probes() -> None:
    """From the least to the most of them at each point; a probe that ended early has fewer nodes."""
    points = np.linspace(-1, 2, 31)
    nodes, weights = np.array([[0.0, 1.0], [0.5, np.nan]]), np.array([[0.75, 0.25], [1.0, np.nan]])
    alone = [smear(points, nodes[0], weights[0], width=0.1), smear(points, nodes[1, :1], weights[1, :1], width=0.1)]
    mean = (alone[0] + alone[1]) / 2
    density = {"at": points.tolist(), "density": mean.tolist(), "width": 0.1}
    found = FOUND | {"density": density, "parameters": 1000}
    (section,) = PANEL.read(found).sections({"nodes": nodes, "weights": weights}, key="curvature")
    content = section.plots[0].content
    least = mean.max() / 10_000
    assert content["log"] and content["axes"] == ["eigenvalue"]
    assert content["y"] == [pytest.approx(value, rel=1e-3) if value > least else None for value in mean]
    assert None in content["y"]
    for end, of in (("low", np.minimum), ("high", np.maximum)):
        assert content["band"][end] == pytest.approx(np.maximum(of(*alone), least), rel=1e-3)
    assert [row[0] for row in section.rows] == ["trace", "smallest", "largest"] and "2 probes" in section.note
    assert [cell.written for cell in section.rows[0][1]] == ["120", "116", "124"]


def test_without_nodes_the_density_is_drawn_alone() -> None:
    """And of a snapshot the step is said."""
    (section,) = PANEL.read(FOUND | {"step": 640}).sections({}, key="curvature")
    assert "band" not in section.plots[0].content and section.title == "Spectrum of the Hessian at step 640"
    with pytest.raises(UserError, match="of different sizes"):
        PANEL.read(FOUND).sections({"nodes": np.zeros((2, 3)), "weights": np.zeros((2, 2))}, key="curvature")
