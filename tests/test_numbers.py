"""Numbers as they are written."""

from __future__ import annotations

import pytest

from reslab import numbers


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (numbers.percent(8.746), "8.75"),
        (numbers.count(25_557_032), "25,557,032"),
        (numbers.printed(3.8e9), "3.8G"),
        (numbers.printed(0.27e6), "0.27M"),
        (numbers.millions(40_551_040), "40.6"),
        (numbers.mebibytes(185.5 * 2**20), "185.5"),
        (numbers.mebibytes(29_000), "0.028"),
        (numbers.write_probability(0.256), "25.6 %"),
        (numbers.write_probability(0.9996), ">99.9 %"),
        (numbers.write_probability(0.0), "<0.1 %"),
        (numbers.write_size(12), "12 B"),
        (numbers.write_size(2048), "2.0 KiB"),
        (numbers.write_size(5 * 2**20), "5.0 MiB"),
        (numbers.write_size(2**43), "8,192.0 GiB"),
        (numbers.duration(27.4), "27 s"),
        (numbers.duration(59.7), "1 min 00 s"),
        (numbers.duration(245), "4 min 05 s"),
        (numbers.duration(7_385), "2 h 03 min"),
        (numbers.duration(187_300), "2 d 4 h"),
        (numbers.about(27.4), "about 27 s"),
        (numbers.about(0.4), "less than a second"),
        (numbers.signed(-0.124), "−0.12"),
        (numbers.signed(0.5), "+0.50"),
        (numbers.signed(-0.004), "0.00"),
        (numbers.number(0.123456), "0.1235"),
    ],
)
def test_numbers_are_written_for_the_eye(written: str, expected: str) -> None:
    """Each in its own way."""
    assert written == expected


@pytest.mark.parametrize(
    "write", ["percent", "count", "printed", "millions", "mebibytes", "duration", "signed", "number"]
)
def test_nothing_is_written_for_nothing(write: str) -> None:
    """A table puts a dash there."""
    assert getattr(numbers, write)(None) == ""
