"""Preprocessing that cannot be."""

from __future__ import annotations

import pytest

from reslab.errors import UserError
from reslab.spec import Preprocess
from reslab.spec.preprocess import AUTHORS


def test_mean_and_deviation_agree_in_length() -> None:
    """One of each a channel, deviations above zero."""
    with pytest.raises(UserError, match="one of each a channel"):
        Preprocess(mean=(0.5, 0.5, 0.5))
    with pytest.raises(UserError, match="above 0"):
        Preprocess(mean=(0.0,), std=(0.0,))


def test_the_authors_subtract_a_bgr_mean_and_divide_by_nothing() -> None:
    """Section 10 of the fact sheet."""
    assert (AUTHORS.channel_order, AUTHORS.pixel_range, AUTHORS.std) == ("BGR", "0-255", (1.0, 1.0, 1.0))
    assert AUTHORS.mean == (103.0626, 115.9029, 123.1516)
