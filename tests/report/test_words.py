"""What the pages write."""

from __future__ import annotations

import pytest

from reslab.report import words
from reslab.report.groups import Spread


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (words.spread_words(Spread(6.61, 0.16, 5)), "6.61 ± 0.16"),
        (words.spread_words(Spread(6.61, None, 1)), "6.61"),
        (words.short_commit("0123456789abcdef-dirty"), "0123456*"),
        (words.short_commit(""), ""),
        (words.place("table-6"), "Table 6"),
        (words.place("fig-7"), "Fig. 7"),
        (words.place("elsewhere"), "elsewhere"),
        (words.moment("2026-11-15T13:25:07+00:00"), "2026-11-15 13:25"),
    ],
)
def test_all_is_written_for_the_eye(written: str, expected: str) -> None:
    """Each in its own way."""
    assert written == expected
