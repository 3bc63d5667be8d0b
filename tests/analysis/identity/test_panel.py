"""What pages are given of distances from the identity."""

from __future__ import annotations

import pytest
from tests.analysis.identity.test_printed import FOUND

from reslab.analysis.identity.panel import PANEL


def test_pages_show_changes_and_their_intervals() -> None:
    """Of every block."""
    marks = PANEL.read(FOUND).marks
    assert [mark.name for mark in marks] == ["conv2_1", "conv2_2", "conv3_1"]
    assert tuple(marks[2][1:]) == pytest.approx((2.0, 1.9, 2.1))
