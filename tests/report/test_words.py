"""Numbers as the pages write them."""

from __future__ import annotations

import pytest

from reslab.report import words
from reslab.report.groups import Spread


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (words.percent(8.746), "8.75"),
        (words.count(269_722), "269,722"),
        (words.millions(40_551_040), "40.6"),
        (words.mebibytes(185.5 * 2**20), "185.5"),
        (words.mebibytes(29_000), "0.028"),
        (words.duration(27.4), "27 s"),
        (words.duration(59.7), "1 min 00 s"),
        (words.duration(245), "4 min 05 s"),
        (words.duration(7_385), "2 h 03 min"),
        (words.duration(187_300), "2 d 4 h"),
        (words.spread_words(Spread(6.61, 0.16, 5)), "6.61 ± 0.16"),
        (words.spread_words(Spread(6.61, None, 1)), "6.61"),
        (words.signed(-0.124), "−0.12"),
        (words.signed(0.5), "+0.50"),
        (words.short_commit("0123456789abcdef-dirty"), "0123456*"),
        (words.short_commit(""), ""),
        (words.place("table-6"), "Table 6"),
        (words.place("fig-7"), "Fig. 7"),
        (words.place("elsewhere"), "elsewhere"),
        (words.moment("2026-11-15T13:25:07+00:00"), "2026-11-15 13:25"),
    ],
)
def test_numbers_are_written_for_the_eye(written: str, expected: str) -> None:
    """Each in its own way."""
    assert written == expected


@pytest.mark.parametrize(
    "write", [words.percent, words.count, words.millions, words.mebibytes, words.duration, words.signed, words.number]
)
def test_nothing_is_written_for_nothing(write) -> None:
    """The table puts a dash there."""
    assert write(None) == ""
