"""What the pages write."""

from __future__ import annotations

import pytest

from reslab.report import notation
from reslab.report.groups import Spread


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (notation.spread_words(Spread(6.61, 0.16, 5)), "6.61 ± 0.16"),
        (notation.spread_words(Spread(6.61, None, 1)), "6.61"),
        (notation.short_commit("0123456789abcdef-dirty"), "0123456*"),
        (notation.short_commit(""), ""),
        (notation.place("table-6"), "Table 6"),
        (notation.place("fig-7"), "Fig. 7"),
        (notation.place("norms"), "Beyond the paper: frozen and trained batch norm of a detector"),
        (notation.place("elsewhere"), "elsewhere"),
        (notation.moment("2026-11-15T13:25:07+00:00"), "2026-11-15 13:25"),
    ],
)
def test_all_is_written_for_the_eye(written: str, expected: str) -> None:
    """Each in its own way."""
    assert written == expected
