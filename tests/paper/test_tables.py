"""What was published, against the fact sheet's deltas and against itself."""

from __future__ import annotations

import pytest

from reslab.paper.tables import TABLE_1, TABLE_2, TABLE_3, TABLE_4, TABLE_5, TABLE_6, Published
from reslab.spec import find

TABLES = (TABLE_1, TABLE_2, TABLE_3, TABLE_4, TABLE_5, TABLE_6)

PRINTED = {
    1: """
        ResNet-18  | 1.8
        ResNet-34  | 3.6
        ResNet-50  | 3.8
        ResNet-101 | 7.6
        ResNet-152 | 11.3
        VGG-16     | 15.3
        VGG-19     | 19.6
    """,
    2: """
        plain-18  | 27.94 |
        plain-34  | 28.54 |
        ResNet-18 | 27.88 |
        ResNet-34 | 25.03 |
    """,
    3: """
        VGG-16      | 28.07 | 9.33
        GoogLeNet   |       | 9.15
        PReLU-net   | 24.27 | 7.38
        plain-34    | 28.54 | 10.02
        ResNet-34 A | 25.03 | 7.76
        ResNet-34 B | 24.52 | 7.46
        ResNet-34 C | 24.19 | 7.4
        ResNet-50   | 22.85 | 6.71
        ResNet-101  | 21.75 | 6.05
        ResNet-152  | 21.43 | 5.71
    """,
    4: """
        VGG (ILSVRC'14)       |       | 8.43
        GoogLeNet (ILSVRC'14) |       | 7.89
        VGG (v5)              | 24.4  | 7.1
        PReLU-net             | 21.59 | 5.71
        BN-inception          | 21.99 | 5.81
        ResNet-34 B           | 21.84 | 5.71
        ResNet-34 C           | 21.53 | 5.6
        ResNet-50             | 20.74 | 5.25
        ResNet-101            | 19.87 | 4.6
        ResNet-152            | 19.38 | 4.49
    """,
    5: """
        VGG (ILSVRC'14)       | | 7.32
        GoogLeNet (ILSVRC'14) | | 6.66
        VGG (v5)              | | 6.8
        PReLU-net             | | 4.94
        BN-inception          | | 4.82
        ResNet (ILSVRC'15)    | | 3.57
    """,
    6: """
        Maxout      |      | 9.38 |      |
        NIN         |      | 8.81 |      |
        DSN         |      | 8.22 |      |
        FitNet-19   | 2.5  | 8.39 |      |
        Highway-19  | 2.3  | 7.54 | 7.72 | 0.16
        Highway-32  | 1.25 | 8.8  |      |
        ResNet-20   | 0.27 | 8.75 |      |
        ResNet-32   | 0.46 | 7.51 |      |
        ResNet-44   | 0.66 | 7.17 |      |
        ResNet-56   | 0.85 | 6.97 |      |
        ResNet-110  | 1.7  | 6.43 | 6.61 | 0.16
        ResNet-1202 | 19.4 | 7.93 |      |
    """,
}


def by_method(table: tuple[Published, ...]) -> dict[str, Published]:
    return {row.method: row for row in table}


def test_named_networks_exist() -> None:
    """Every network a row names can be described."""
    for row in (row for table in TABLES for row in table if row.network):
        name, *fields = str(row.network).split()
        find(name, dict(field.split("=") for field in fields))


def test_the_papers_own_arithmetic_holds() -> None:
    """Text deltas of section 4.1, and cells that two tables share."""
    two, three = by_method(TABLE_2), by_method(TABLE_3)
    assert two["ResNet-18"].top1_error_percent - two["ResNet-34"].top1_error_percent == pytest.approx(2.85)
    assert two["plain-34"].top1_error_percent - two["ResNet-34"].top1_error_percent == pytest.approx(3.51)
    assert two["plain-34"].top1_error_percent == three["plain-34"].top1_error_percent
    assert two["ResNet-34"].top1_error_percent == three["ResNet-34 A"].top1_error_percent


def test_every_number_is_the_printed_one() -> None:
    """Typed off the paper a second time, row by row: top-1 and top-5 errors, or parameters and errors."""
    for table, text in PRINTED.items():
        printed = [[part.strip() for part in line.split("|")] for line in text.strip().splitlines()]
        rows = [(row.method, *map(_written, _numbers(table, row))) for row in TABLES[table - 1]]
        assert rows == [tuple(row) for row in printed]


def _numbers(table: int, row: Published) -> list[float | None]:
    if table == 1:
        return [row.multiply_adds and row.multiply_adds / 1e9]
    if table < 6:
        return [row.top1_error_percent, row.top5_error_percent]
    return [row.params and row.params / 1e6, row.error_percent, row.mean_error_percent, row.std_error_percent]


def _written(number: float | None) -> str:
    return "" if number is None else f"{round(number, 6):g}"


def test_methods_we_do_not_build_are_numbers_only() -> None:
    """NIN, DSN, FitNet and Maxout stand in Table 6 without a network."""
    assert {row.method for row in TABLE_6 if row.network is None} == {"Maxout", "NIN", "DSN", "FitNet-19"}
