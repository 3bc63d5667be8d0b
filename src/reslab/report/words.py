"""How numbers stand in the pages: units are in the heading, so that a column can be compared by eye."""

from __future__ import annotations

import re
from collections.abc import Callable

from reslab.report.groups import Spread
from reslab.report.labels import write_value
from reslab.report.verdicts import Verdict

MINUTE, HOUR, DAY = 60, 3600, 86400
PLACES = {"shortcuts": "Beyond the paper: shortcuts and order on CIFAR-10"}


def percent(value: float | None) -> str:
    """Write an error: 8.75."""
    return "" if value is None else f"{value:.2f}"


def count(value: float | None) -> str:
    """Write a whole number: 269,722."""
    return "" if value is None else f"{value:,.0f}"


def millions(value: float | None) -> str:
    """Write a count in millions: 40.6."""
    return "" if value is None else f"{value / 1e6:,.1f}"


def mebibytes(value: float | None) -> str:
    """Write bytes in MiB: 185.5, and small amounts to two digits: 0.028."""
    if value is None:
        return ""
    return f"{value / 2**20:,.1f}" if value >= 2**20 else f"{value / 2**20:.2g}"


def duration(seconds: float | None) -> str:
    """Write a time in its two largest units: 27 s, 4 min 05 s, 2 h 03 min, 2 d 4 h."""
    if seconds is None:
        return ""
    whole = round(seconds)
    if whole < MINUTE:
        return f"{whole} s"
    if whole < HOUR:
        return f"{whole // MINUTE} min {whole % MINUTE:02d} s"
    if whole < DAY:
        return f"{whole // HOUR} h {whole % HOUR // MINUTE:02d} min"
    return f"{whole // DAY} d {whole % DAY // HOUR} h"


def spread_words(value: Spread | None) -> str:
    """Write a mean and its deviation: 6.61 ± 0.16."""
    if value is None:
        return ""
    return f"{value.mean:.2f}" + ("" if value.std is None else f" ± {value.std:.2f}")


def ours(verdict: Verdict) -> str:
    """Write what was measured: 6.61 ± 0.16; of an order, the means one after the other."""
    if verdict.mean is None:
        return " → ".join(percent(value) for value in verdict.values)
    return spread_words(Spread(verdict.mean, verdict.std, verdict.n))


def signed(value: float | None) -> str:
    """Write a difference with its sign: −0.12."""
    return "" if value is None else f"{value:+.2f}".replace("-", "−")


def number(value: float | None) -> str:
    """Write a number as it was given, to four digits."""
    return "" if value is None else f"{value:.4g}"


def short_commit(commit: str) -> str:
    """Write a commit briefly; a star marks files that differed from it."""
    digits, _, dirty = commit.partition("-")
    return digits[:7] + ("*" if dirty else "")


def place(table: str) -> str:
    """Write a place in the paper: table-6 is Table 6, fig-7 is Fig. 7; what is beyond it has a name."""
    match = re.fullmatch(r"(table|fig)-(\w+)", table)
    return f"{ {'table': 'Table', 'fig': 'Fig.'}[match[1]] } {match[2]}" if match else PLACES.get(table, table)


def moment(started: str) -> str:
    """Write when something began, to the minute: 2026-11-15 13:25."""
    return str(started)[:16].replace("T", " ")


FILTERS: dict[str, Callable[..., str]] = {
    "percent": percent,
    "count": count,
    "millions": millions,
    "mebibytes": mebibytes,
    "duration": duration,
    "spread": spread_words,
    "ours": ours,
    "signed": signed,
    "number": number,
    "short_commit": short_commit,
    "place": place,
    "moment": moment,
    "field": write_value,
}
