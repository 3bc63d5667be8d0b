"""What the instrument of identity can be told."""

from __future__ import annotations

import pytest

from reslab.analysis.identity.settings import Identity
from reslab.errors import UserError


def test_what_cannot_be_is_refused() -> None:
    """By its name."""
    with pytest.raises(UserError, match="batch is 0; it must be above 0"):
        Identity(batch=0)
    with pytest.raises(UserError, match="confidence is 1; it must be below 1"):
        Identity(confidence=1)
    with pytest.raises(UserError, match="since is -1; give the step of a snapshot"):
        Identity(since=-1)
