"""What the instrument of convergence can be told."""

from __future__ import annotations

from typing import Any

import pytest

from reslab.analysis.convergence.settings import Convergence
from reslab.errors import UserError


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"skip": 1.0}, "skip is 1; it must be below 1"),
        ({"confidence": 0}, "confidence is 0; it must be above 0"),
        ({"reach": 5, "against": "resnet-20"}, "reach and against both say what is to be reached; give one of them"),
        ({"images": 10}, "convergence reads the log of a training; leave out images= and on="),
        ({"on": "train"}, "convergence reads the log of a training; leave out images= and on="),
    ],
)
def test_what_cannot_be_is_refused(fields: dict[str, Any], sentence: str) -> None:
    """By its name."""
    with pytest.raises(UserError, match=sentence):
        Convergence(**fields)
