"""What pages are given of curvature."""

from __future__ import annotations

import pytest
from tests.analysis.curvature.found import FOUND

from reslab.analysis.catalogue import Mark
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
