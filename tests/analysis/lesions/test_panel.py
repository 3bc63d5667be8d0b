"""What pages are given of lesions."""

from __future__ import annotations

import pytest
from tests.analysis.lesions.test_printed import FOUND

from reslab.analysis.lesions.panel import PANEL


def test_pages_show_percentages_and_their_intervals() -> None:
    """Of each block that was deleted."""
    first, second = PANEL.read(FOUND).marks
    assert (first.name, second.name) == ("conv2_1", "conv3_1")
    assert tuple(first[1:]) == pytest.approx((20.0, 19.0, 21.0))
