"""How numbers look."""

from __future__ import annotations

from reslab.cli.show import count, printed, shape


def test_numbers() -> None:
    """Counts exactly, published ones as printed, shapes without the batch."""
    assert count(25557032) == "25,557,032"
    assert (printed(3.8e9), printed(0.27e6), printed(None)) == ("3.8G", "0.27M", "")
    assert shape((8, 64, 56, 56)) == "64x56x56"
