"""What benchmarks are told on the command line, refused in a sentence where it cannot be."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable, Collection
from typing import TypeVar

from reslab.errors import UserError, choices
from reslab.spec import find

T = TypeVar("T")


def whole(text: str) -> int:
    """Read a whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is no whole number of at least 1")
    return int(text)


def network(text: str) -> str:
    """Read the name of a network."""
    try:
        find(text)
    except UserError as error:
        raise ArgumentTypeError(str(error)) from error
    return text


def one_of(known: Collection[str]) -> Callable[[str], str]:
    """Return what reads one of these words."""

    def read(text: str) -> str:
        if text not in known:
            raise ArgumentTypeError(f"{text!r} is none of them; choose {choices(known)}")
        return text

    return read


def listed(read: Callable[[str], T]) -> Callable[[str], list[T]]:
    """Return what reads several, with commas between."""
    return lambda text: [read(word) for word in text.split(",")]
