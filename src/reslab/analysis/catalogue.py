"""The instruments by name. Each is a folder here, with what measures (`measure`) and what is printed of it (`printed`).

What prints needs no torch, and the names are known without loading either.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reslab.tasks.display import PrintedTable


@dataclass(frozen=True, kw_only=True)
class Instrument:
    """`measure` takes a subject, who listens, and the `settings`, which are stored with what it returns.

    That is plain data; on how many `images` it was measured, and how many were skipped, is in it.
    """

    measure: Callable[..., dict[str, Any]]
    settings: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class PrintedInstrument:
    """What is printed of what was found: a sentence and a table."""

    sentence: Callable[[Mapping[str, Any]], str]
    table: Callable[[Mapping[str, Any]], PrintedTable]


def list_instruments() -> list[str]:
    """Return the names of the instruments."""
    return sorted(path.parent.name for path in Path(__file__).parent.glob("*/measure.py"))


def find_instrument(name: str) -> Instrument:
    """Return what measures."""
    return importlib.import_module(f"reslab.analysis.{name}.measure").INSTRUMENT


def find_printed(name: str) -> PrintedInstrument:
    """Return what is printed of an instrument's findings."""
    return importlib.import_module(f"reslab.analysis.{name}.printed").PRINTED
