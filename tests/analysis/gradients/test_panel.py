"""What pages are given of gradients."""

from __future__ import annotations

import pytest
from tests.analysis.gradients.found import write_gradients

from reslab.analysis.catalogue import Mark
from reslab.analysis.gradients.panel import PANEL
from reslab.errors import UserError


def test_each_view_has_its_own_marks() -> None:
    """Of the layers on the path, and of depths; what is beside the path is left out."""
    found = PANEL.read(write_gradients())
    shown = {view.key: found.marks_in(view) for view in PANEL.views}
    assert [*shown] == ["norm", "ratio", "cosine", "neighbours"]
    assert [mark.name for mark in shown["norm"]] == ["conv1", "conv2_1.1"]
    assert shown["norm"] == found.marks
    assert shown["ratio"][0].value == pytest.approx(1e-4)
    assert shown["cosine"][1] == Mark("conv2_1.1", 0.25, 0.225, pytest.approx(0.275))
    assert [(mark.name, mark.value) for mark in shown["neighbours"]] == [("conv1", 0.9), ("logits", 0.1)]


def test_what_lacks_a_quantity_is_refused() -> None:
    """By its place and name."""
    found = write_gradients()
    del found["layers"][1]["norm"]
    with pytest.raises(UserError, match=r"layers\.1 lacks norm"):
        PANEL.read(found)
