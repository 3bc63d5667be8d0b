"""What pages are given of shortcuts."""

from __future__ import annotations

import pytest
from tests.analysis.shortcuts.test_printed import FOUND, GATE, ROW

from reslab.analysis.shortcuts.panel import PANEL


def test_pages_show_the_branchs_share() -> None:
    """In percent, with its interval, forward and backward; and the cosine."""
    panel = PANEL.read(FOUND)
    forward, cosine, backward, gates = (panel.marks_in(view) for view in panel.views)
    assert [mark.name for mark in forward] == ["conv2_1", "conv2_2"]
    assert tuple(forward[0][1:]) == pytest.approx((20.0, 19.0, 21.0))
    assert tuple(cosine[0][1:]) == pytest.approx((-0.1, -0.12, -0.08))
    assert tuple(backward[0][1:]) == pytest.approx((30.0, 28.0, 32.0))
    assert gates == []


def test_pages_show_gates() -> None:
    """Where there are some."""
    panel = PANEL.read(FOUND | {"additions": [ROW | GATE | {"gate_mean_error": 0.01}]})
    assert tuple(panel.marks_in(panel.views[-1])[0]) == pytest.approx(("conv2_1", 0.15, 0.14, 0.16))
