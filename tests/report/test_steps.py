"""What was found at several steps, along the training."""

from __future__ import annotations

from dataclasses import replace

from tests.analysis.curvature.found import FOUND

from reslab.analysis.curvature.panel import PANEL as CURVATURE
from reslab.analysis.responses.panel import PANEL as RESPONSES
from reslab.report.steps import show_steps, split_step


def responses(*stds: float) -> RESPONSES:
    """Of so many layers."""
    layers = [{"name": f"conv{n}", "std": std, "low": std - 0.1, "high": std + 0.1} for n, std in enumerate(stds)]
    return RESPONSES.read({"data": "digits", "images": 355, "confidence": 0.95, "layers": layers})


def test_lines_are_medians_with_the_ends_beside_them() -> None:
    """In the order of the steps; what is sorted by size would say the same again."""
    (section,) = show_steps({640: responses(4, 5, 9), 0: responses(1, 3, 2), 40: responses(2, 2, 2)}, key="responses")
    (plot,) = section.plots
    assert section.title == "Layer responses along the training" and plot.kind == "profile"
    content = plot.content
    assert (content["x"], content["y"]) == ([0, 40, 640], [2, 2, 5])
    assert content["band"] == {"low": [1, 2, 4], "high": [3, 2, 9]}
    assert [(line["name"], line["y"]) for line in content["lines"]] == [("conv0", [1, 2, 4]), ("conv2", [2, 2, 9])]
    assert [(name, cells[0].value) for name, cells in section.rows] == [("step 0", 2), ("step 40", 2), ("step 640", 5)]
    assert content["words"] == "standard deviation" and not content["log"] and "355 images" in section.note


def test_views_that_span_magnitudes_are_logarithmic() -> None:
    """Unless there is a zero; a view that a step lacks is not drawn."""
    without = {"blocks": [block | {"without": None} for block in FOUND["blocks"]]}
    panels = {0: CURVATURE.read(FOUND), 10: CURVATURE.read(FOUND | without)}
    (section,) = show_steps(panels, key="curvature")
    assert [plot.key for plot in section.plots] == ["curvature-largest", "curvature-as_is"]
    assert all(plot.content["log"] for plot in section.plots)
    assert [name for name, _ in section.headings] == ["", "Largest eigenvalues", "Condition of blocks"]
    gone = {"largest": [{"value": 0.0, "low": 0.0, "high": 0.0}]}
    (section,) = show_steps({0: panels[0], 10: CURVATURE.read(FOUND | gone)}, key="curvature")
    assert not section.plots[0].content["log"]


def test_a_line_follows_one_name() -> None:
    """Through the steps that have it, wherever it stands there."""
    whole, less = responses(1, 3, 2), responses(4, 5, 9)
    (section,) = show_steps({0: replace(less, layers=less.layers[1:]), 40: whole, 640: less}, key="responses")
    lines = [(line["name"], line["x"], line["y"]) for line in section.plots[0].content["lines"]]
    assert lines == [("conv0", [40, 640], [1, 4]), ("conv2", [0, 40, 640], [9, 2, 9])]


def test_one_step_makes_no_line() -> None:
    """Nor does none."""
    assert show_steps({640: responses(1)}, key="responses") == show_steps({}, key="responses") == []


def test_names_of_findings_say_their_step() -> None:
    """With or without settings of their own."""
    assert split_step("gradients@640") == ("gradients", 640)
    assert split_step("gradients-1f0e4c2b@0") == ("gradients-1f0e4c2b", 0)
    assert split_step("gradients-1f0e4c2b") == ("gradients-1f0e4c2b", None)
