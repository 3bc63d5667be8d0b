"""How often something was called, for tests of work that is done once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from reslab.networks.weights import reading
from reslab.runtime import sealed


def count_calls(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[tuple[Any, ...]]:
    """Have a function of a module or class note each of its calls, by their arguments, in the list that is returned."""
    calls: list[tuple[Any, ...]] = []
    function: Callable[..., Any] = getattr(owner, name)

    def count(*args: Any, **more: Any) -> Any:
        calls.append(args)
        return function(*args, **more)

    monkeypatch.setattr(owner, name, count)
    return calls


def count_weights(monkeypatch: pytest.MonkeyPatch) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Have weight files that are read, and digests that are taken of tensors, noted."""
    monkeypatch.setattr(sealed, "hashlib", SimpleNamespace(sha256=hashlib.sha256))
    return count_calls(monkeypatch, reading, "read_tensors"), count_calls(monkeypatch, sealed.hashlib, "sha256")
