"""Who may read what: folders without permission, for root too, who may read everything, and any tester's umask."""

from __future__ import annotations

import contextlib
import errno
import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest


@contextlib.contextmanager
def umask(mask: int) -> Iterator[None]:
    """Let files and folders be made with this umask meanwhile."""
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


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
