"""Photographs told apart by what is in their files, whatever they are called and wherever they lie."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from reslab.data.photos.members import Stored
from reslab.errors import UserError

CHEAP = 4 * 2**30  # bytes that are read in seconds; ImageNet's are not


def digest_contents(places: Sequence[Stored], sizes: Iterable[int]) -> NDArray[np.int64] | None:
    """Return 64 bits of a digest of each file; None where there is too much to read for that."""
    if sum(sizes) > CHEAP:
        return None
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # reading and hashing let Python's lock go
        digests = b"".join(digest[:8] for digest in pool.map(digest_content, places))
    return np.frombuffer(digests, np.int64)


def digest_content(place: Stored) -> bytes:
    """Return the SHA-256 of what is in a file."""
    try:
        return hashlib.sha256(place.read_bytes()).digest()
    except OSError as error:
        raise UserError(f"{place} cannot be read: {error.strerror or error}; replace it or remove it") from error
