"""What pages are given of shortcuts."""

from __future__ import annotations

import pytest
from tests.analysis.shortcuts.test_printed import FOUND

from reslab.analysis.shortcuts.panel import PANEL


def test_pages_show_the_branchs_share() -> None:
    """In percent, with its interval."""
    first, second = PANEL.read(FOUND).marks
    assert (first.name, second.name) == ("conv2_1", "conv2_2")
    assert tuple(first[1:]) == pytest.approx((20.0, 19.0, 21.0))
