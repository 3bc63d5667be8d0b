"""How things look on a terminal."""

from __future__ import annotations

from reslab.cli.show import shape


def test_shapes() -> None:
    """Without the batch."""
    assert shape((8, 64, 56, 56)) == "64x56x56"
