"""What was published, against the fact sheet's deltas and against itself."""

from __future__ import annotations

import pytest

from reslab.paper.tables import TABLE_1, TABLE_2, TABLE_3, TABLE_4, TABLE_5, TABLE_6, Published
from reslab.spec import find

TABLES = (TABLE_1, TABLE_2, TABLE_3, TABLE_4, TABLE_5, TABLE_6)


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


def test_rows_are_as_many_as_printed() -> None:
    """Tables 2 to 6 have 4, 10, 10, 6 and 12 rows."""
    assert [len(table) for table in TABLES[1:]] == [4, 10, 10, 6, 12]


def test_methods_we_do_not_build_are_numbers_only() -> None:
    """NIN, DSN, FitNet and Maxout stand in Table 6 without a network."""
    assert {row.method for row in TABLE_6 if row.network is None} == {"Maxout", "NIN", "DSN", "FitNet-19"}
