"""Preprocessing that cannot be."""

from __future__ import annotations

import pytest

from reslab.errors import UserError
from reslab.spec import Preprocess
from reslab.spec.preprocess import AUTHORS, PER_PIXEL_MEAN, TORCHVISION_EFFICIENTNET


def test_mean_and_deviation_agree_in_length() -> None:
    """One of each a channel, deviations above zero."""
    with pytest.raises(UserError, match="one of each per channel"):
        Preprocess(mean=(0.5, 0.5, 0.5))
    with pytest.raises(UserError, match="above 0"):
        Preprocess(mean=(0.0,), std=(0.0,))


def test_the_authors_subtract_a_bgr_mean_and_divide_by_nothing() -> None:
    """Section 10 of the fact sheet."""
    assert (AUTHORS.channel_order, AUTHORS.pixel_range, AUTHORS.std) == ("BGR", "0-255", (1.0, 1.0, 1.0))
    assert AUTHORS.mean == (103.0626, 115.9029, 123.1516)


def test_one_mean_is_enough() -> None:
    """A mean image and channel means exclude each other; sizes are above zero."""
    assert PER_PIXEL_MEAN.per_pixel_mean
    with pytest.raises(UserError, match="per_pixel_mean=false"):
        Preprocess(per_pixel_mean=True, mean=(0.5,))
    with pytest.raises(UserError, match="crop is 0"):
        Preprocess(crop=0)


def test_it_is_told_in_words() -> None:
    """Only what is done is said."""
    assert PER_PIXEL_MEAN.describe() == "pixels 0-1, per-pixel mean"
    assert AUTHORS.describe() == "BGR pixels 0-255, resize 256, crop 224, mean 103.063 115.903 123.152"
    assert TORCHVISION_EFFICIENTNET.describe().endswith("bicubic, mean 0.485 0.456 0.406, std 0.229 0.224 0.225")


def test_an_order_of_channels_that_is_none_is_refused() -> None:
    """It would be read as RGB."""
    with pytest.raises(UserError, match="channel_order is 'GBR'; choose RGB or BGR"):
        Preprocess(channel_order="GBR")  # pyright: ignore[reportArgumentType]
