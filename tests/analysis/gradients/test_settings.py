"""What the measurement of gradients can be told."""

from __future__ import annotations

import pytest

from reslab.analysis.gradients.settings import Gradients
from reslab.errors import UserError


def test_a_few_batches_are_needed() -> None:
    """All images are taken for enough until it is known how many there are."""
    assert Gradients(images=512, batch=128).batch == 128
    assert Gradients(images=0).images == 0
    with pytest.raises(UserError, match="images is 511 and batch is 128, but 4 batches are needed"):
        Gradients(images=511)


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("batch", 0, "batch is 0; it must be above 0"),
        ("points", 2, "points is 2; it must be at least 3"),
        ("depths", 1, "depths is 1; it must be at least 2"),
        ("lines", 0, "lines is 0; it must be above 0"),
        ("confidence", 1, "confidence is 1; it must be below 1"),
        ("at", "start", "at is 'start'; choose weights or initialization"),
        ("norms", "train", "norms is 'train'; choose batch or fixed"),
    ],
)
def test_what_means_nothing_is_refused(field: str, value: object, sentence: str) -> None:
    """By its name."""
    with pytest.raises(UserError, match=sentence):
        Gradients(**{field: value})  # pyright: ignore[reportArgumentType]
