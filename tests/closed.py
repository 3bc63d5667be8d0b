"""Folders without permission, for tests that root runs too, who may read everything."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def close(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a folder one that may neither be listed nor entered; what it is called can still be seen."""
    closed = folder.absolute()

    def guard(call: Callable[..., Any], *, itself: bool) -> Callable[..., Any]:
        def guarded(path: Any, *arguments: Any, **options: Any) -> Any:
            if isinstance(path, (str, os.PathLike)):
                place = Path(path).absolute()
                if closed in place.parents or (itself and place == closed):
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
            return call(path, *arguments, **options)

        return guarded

    monkeypatch.setattr(os, "stat", guard(os.stat, itself=False))
    monkeypatch.setattr(os, "scandir", guard(os.scandir, itself=True))
    monkeypatch.setattr(io, "open", guard(io.open, itself=True))
