"""What the measurement of responses can be told."""

from __future__ import annotations

import pytest

from reslab.analysis.responses.settings import Responses
from reslab.errors import UserError


def test_intervals_are_of_some_confidence_and_not_of_all() -> None:
    """By default 95 % by 1,000 resamples."""
    assert (Responses().confidence, Responses().resamples) == (0.95, 1000)
    for fields, sentence in (
        ({"confidence": 1}, "confidence is 1; it must be below 1"),
        ({"confidence": 0}, "confidence is 0; it must be above 0"),
        ({"resamples": 0}, "resamples is 0; it must be above 0"),
    ):
        with pytest.raises(UserError, match=sentence):
            Responses(**fields)
