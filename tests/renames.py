"""A disk that fails at the n-th rename, once."""

from __future__ import annotations

import os
from typing import Any

import pytest


def fail_rename(monkeypatch: pytest.MonkeyPatch, count: int, error: BaseException) -> None:
    """Let the rename that is the `count`-th from here on raise `error`; the others do what they should."""
    rename, seen = os.rename, []

    def rename_or_fail(source: Any, target: Any, **rest: Any) -> None:
        seen.append(target)
        if len(seen) == count:
            raise error
        rename(source, target, **rest)

    monkeypatch.setattr(os, "rename", rename_or_fail)
