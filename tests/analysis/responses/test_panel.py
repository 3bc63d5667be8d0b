"""What pages are given of layer responses."""

from __future__ import annotations

import pytest

from reslab.analysis.catalogue import Mark
from reslab.analysis.responses.panel import Responses
from reslab.errors import UserError

FOUND = {
    "data": "digits",
    "images": 360,
    "confidence": 0.95,
    "resamples": 1000,
    "layers": [{"name": "conv1", "std": 1.5, "low": 1.4, "high": 1.6, "rank": 1}],
}


def test_findings_are_read_as_they_are_stored() -> None:
    """More may be stored than is shown."""
    found = Responses.read(FOUND)
    assert (found.data, found.images, found.confidence) == ("digits", 360, 0.95)
    assert found.marks == [Mark("conv1", 1.5, 1.4, 1.6)]


def test_settings_stand_apart_since() -> None:
    """They are read as those that stood among the findings; the images are those that were measured."""
    settings = {"confidence": 0.9, "resamples": 10, "images": 0}
    before = {name: value for name, value in FOUND.items() if name not in ("confidence", "resamples")}
    found = Responses.read(before | {"settings": settings})
    assert (found.images, found.confidence) == (360, 0.9)


def test_what_lacks_a_number_is_refused() -> None:
    """By the name of what it lacks."""
    with pytest.raises(UserError, match=r"layers\.0 lacks std, low, high; add them"):
        Responses.read(FOUND | {"layers": [{"name": "conv1"}]})
    with pytest.raises(UserError, match="Responses lacks images"):
        Responses.read({name: value for name, value in FOUND.items() if name != "images"})
