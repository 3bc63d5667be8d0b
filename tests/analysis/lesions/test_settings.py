"""What the instrument of lesions can be told."""

from __future__ import annotations

import pytest

from reslab.analysis.lesions.settings import Lesions
from reslab.errors import UserError


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"pairs": -1}, "pairs is -1; it must be at least 0"),
        ({"batch": 0}, "batch is 0; it must be above 0"),
        ({"confidence": 1.0}, "confidence is 1; it must be below 1"),
    ],
)
def test_what_cannot_be_is_refused(fields: dict[str, float], sentence: str) -> None:
    """By its name."""
    with pytest.raises(UserError, match=sentence):
        Lesions(**fields)  # pyright: ignore[reportArgumentType]
