"""What the instrument of shortcuts can be told."""

from __future__ import annotations

import pytest

from reslab.analysis.shortcuts.settings import Shortcuts
from reslab.errors import UserError


def test_what_cannot_be_is_refused() -> None:
    """By its name."""
    with pytest.raises(UserError, match="batch is 0; it must be above 0"):
        Shortcuts(batch=0)
    with pytest.raises(UserError, match="confidence is 1; it must be below 1"):
        Shortcuts(confidence=1)
