"""How numbers look."""

from __future__ import annotations

import pytest

from reslab.cli.show import count, memory, printed, shape


@pytest.mark.parametrize(
    ("size", "text"), [(12, "12 B"), (2048, "2.0 KiB"), (5 * 2**20, "5.0 MiB"), (2**43, "8,192.0 GiB")]
)
def test_memory(size: float, text: str) -> None:
    """Binary units, up to GiB."""
    assert memory(size) == text


def test_numbers() -> None:
    """Counts exactly, published ones as printed, shapes without the batch."""
    assert count(25557032) == "25,557,032"
    assert (printed(3.8e9), printed(0.27e6), printed(None)) == ("3.8G", "0.27M", "")
    assert shape((8, 64, 56, 56)) == "64x56x56"
