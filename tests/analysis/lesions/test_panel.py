"""What pages are given of lesions."""

from __future__ import annotations

import pytest
from tests.analysis.lesions.test_printed import FOUND

from reslab.analysis.catalogue import Mark
from reslab.analysis.lesions.panel import PANEL

LENGTHS = [{"length": length, "paths": 0.5, "norm": 2.0, "norm_error": 0.2, "share": 0.5} for length in (0, 1)]


def in_views(**more: object) -> dict[str, list[Mark]]:
    panel = PANEL.read(FOUND | {"paths_by_length": {"central": [0, 1], "lengths": LENGTHS}} | more)
    return {view.key: panel.marks_in(view) for view in panel.views}


def test_pages_show_percentages_and_their_intervals() -> None:
    """Of each block deleted or set back, of so many, of so many exchanges, and of the gradient by length."""
    views = in_views()
    assert [mark.name for mark in views["single"]] == [mark.name for mark in views["reset"]] == ["conv2_1", "conv3_1"]
    assert tuple(views["single"][0][1:]) == pytest.approx((20.0, 19.0, 21.0))
    assert tuple(views["reset"][0][1:]) == pytest.approx((30.0, 29.0, 31.0))
    assert [mark.name for mark in views["several"]] == ["1", "2"] and views["several"][1].value == pytest.approx(90)
    assert tuple(views["shuffled"][0]) == pytest.approx(("3", 80.0, 75.0, 85.0))
    assert tuple(views["paths"][1]) == pytest.approx(("1", 50.0, 45.0, 55.0))


def test_what_was_not_measured_is_not_shown() -> None:
    """Plain networks have no paths."""
    views = in_views(paths_by_length=None, reset=[])
    assert views["paths"] == views["reset"] == [] and views["single"]
