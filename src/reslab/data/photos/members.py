"""Where the bytes of a photograph lie: in a file of its own, or between others in an uncompressed tar.

A member of a tar is read from its place, in one go: the tar is neither unpacked nor gone through.
"""

import contextlib
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from reslab.errors import UserError


@dataclass(frozen=True)
class Member:
    """`length` bytes of a tar from `offset` on, which it calls `name`. As much of a path as reading a picture needs."""

    tar: Path
    name: str
    offset: int
    length: int

    def __str__(self) -> str:
        return f"{self.tar}/{self.name}"

    @property
    def suffix(self) -> str:
        """The end of its name, from the last dot on."""
        return PurePosixPath(self.name).suffix

    def read_bytes(self) -> bytes:
        """Read it; the tar may have become shorter since it was looked through."""
        descriptor = os.open(self.tar, os.O_RDONLY | os.O_CLOEXEC)
        try:
            content = os.pread(descriptor, self.length, self.offset)
        finally:
            os.close(descriptor)
        if len(content) < self.length:
            raise OSError(f"the tar ends {self.length - len(content):,} bytes too early")
        return content


Stored: TypeAlias = Path | Member


@contextlib.contextmanager
def reading(place: Stored, *, remedy: str) -> Iterator[None]:
    """Tell which place cannot be read, and what to do about it."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{place} cannot be read: {error.strerror or error}; {remedy}") from error


def digest_content(place: Stored) -> bytes:
    """Return the SHA-256 of a photograph's bytes, by which it is known whatever it is called."""
    with reading(place, remedy="replace it or remove it"):
        return hashlib.sha256(place.read_bytes()).digest()
