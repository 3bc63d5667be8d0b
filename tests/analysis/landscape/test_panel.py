"""What a run's page is given of a landscape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.analysis.landscape.test_printed import FOUND, PATH, SETTINGS

from reslab.analysis.catalogue import list_panels
from reslab.errors import UserError
from reslab.tasks.display import Section

PANEL = list_panels()["landscape"]
AXES = {"axis_1": np.array([-1.0, 0.0, 1.0]), "axis_2": np.array([-2.0, 2.0])}
LOSS = np.array([[1.0, 2.0], [3.0, 400.0], [np.inf, 6.0]])
ARRAYS = {**AXES, "loss": LOSS, "wrong": np.linspace(0.1, 0.9, 6).reshape(3, 2)}
ALONG = {"settings": SETTINGS | {"directions": "pca"}, "path": PATH, "directions": {"explained": [0.8, 0.15]}}


def show(found: dict[str, Any], arrays: dict[str, np.ndarray]) -> Section:
    (section,) = PANEL.read(found).sections(arrays, key="landscape-1")
    return section


def test_a_surface_is_contours_and_three_dimensions() -> None:
    """The first direction goes across, heights have few digits, what is not finite is left out."""
    section = show(FOUND, ARRAYS)
    assert [(plot.key, plot.kind) for plot in section.plots] == [
        ("landscape-1-contours", "contours"), ("landscape-1-surface", "surface"), ("landscape-1-error", "contours"),
    ]  # fmt: skip
    content = section.plots[0].content
    assert (content["x"], content["y"]) == ([-1, 0, 1], [-2, 2])
    assert content["z"] == [[1, 3, None], [2, 400, 6]]
    assert content["log"]
    assert "path" not in content
    assert not section.plots[2].content["log"]
    assert section.plots[2].content["z"][1] == [26, 58, 90]
    assert all(plot.words for plot in section.plots)


def test_the_note_says_how_it_was_measured_and_how_sharp_it_is() -> None:
    """And the table has the weights beside the extremes."""
    section = show(FOUND, ARRAYS)
    assert "seed 3" in section.note
    assert "bf16; 10,000 test images of cifar10" in section.note
    assert section.note.endswith("The loss doubles within a radius of 0.123 to 0.123 along the axes.")
    assert section.title == "Loss around the weights"
    assert show(FOUND | {"step": 2000}, ARRAYS).title == "Loss around the weights of step 2,000"
    assert "nowhere doubles" in show(FOUND | {"sharpness": {"+1": None}}, ARRAYS).note
    rows = {name: [cell.written for cell in cells] for name, cells in section.rows}
    assert rows == {"the weights": ["0.3123", "7.19"], "minimum": ["0.3121", "7.15"], "maximum": ["3.123e+04", "90.00"]}


def test_a_path_lies_on_its_plane() -> None:
    """With the loss at the weights themselves beside that of the plane, in charts and in the table."""
    section = show({**FOUND, **ALONG}, ARRAYS)
    path = section.plots[1].content["path"]
    assert (path["x"], path["y"]) == ([12.5, 0], [-3, 0])
    assert (path["true"], path["projected"]) == ([1.25, 0.3123], [None, 0.3123])
    assert path["text"][0] == "step 2,000: loss 1.25, on the plane not finite"
    assert "80.0 % and 15.0 % of the variance" in section.note
    assert section.plots[0].content["axes"] == ["component 1", "component 2"]
    assert section.rows[0][0] == "step 2,000"


def test_a_line_is_a_profile() -> None:
    """Of loss and of wrong images."""
    line = {"axis_1": np.array([-1.0, 0.0, 1.0]), "loss": np.array([2.0, 1.0, 3.0]), "wrong": np.array([0.3, 0.1, 0.2])}
    section = show(FOUND | {"settings": SETTINGS | {"dimensions": 1}}, line)
    assert [plot.kind for plot in section.plots] == ["profile", "profile"]
    assert section.plots[0].content["y"] == [2, 1, 3]
    assert not section.plots[0].content["log"]
    assert section.plots[1].content["y"] == [30, 10, 20]


def test_arrays_that_do_not_fit_are_refused() -> None:
    """Missing, or of other sizes."""
    with pytest.raises(UserError, match="its arrays lack axis_2"):
        show(FOUND, {name: values for name, values in ARRAYS.items() if name != "axis_2"})
    with pytest.raises(UserError, match="of different sizes"):
        show(FOUND, ARRAYS | {"wrong": np.zeros((2, 2))})
    assert not PANEL.views
    assert not PANEL.read(FOUND).marks
