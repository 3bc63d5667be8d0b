"""What pages are given of distances from the identity."""

from __future__ import annotations

import pytest
from tests.analysis.identity.test_printed import DEAD, FOUND

from reslab.analysis.identity.panel import PANEL


def test_pages_show_changes_cosines_and_linear_parts() -> None:
    """Of every block, where they are known: of one that is given zeros alone, nothing is."""
    panel = PANEL.read(FOUND | {"blocks": [*FOUND["blocks"], DEAD]})
    change, cosine, linear = (panel.marks_in(view) for view in panel.views)
    assert [mark.name for mark in change] == [mark.name for mark in cosine] == ["conv2_1", "conv2_2", "conv3_1"]
    assert tuple(change[2][1:]) == pytest.approx((2.0, 1.9, 2.1))
    assert tuple(cosine[0][1:]) == pytest.approx((0.9, 0.89, 0.91))
    assert [tuple(mark) for mark in linear] == [("conv2_1", 50, 50, 50), ("conv2_2", 50, 50, 50)]
