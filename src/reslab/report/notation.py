"""How spreads, places and moments stand in the pages; units are in the heading: columns are compared by eye."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from reslab.numbers import count, duration, mebibytes, millions, number, percent, signed
from reslab.report.groups import Spread
from reslab.report.labels import write_value
from reslab.report.verdicts import Verdict

if TYPE_CHECKING:
    from markupsafe import Markup

PLACES = {
    "shortcuts": "Beyond the paper: shortcuts and order on CIFAR-10",
    "norms": "Beyond the paper: frozen and trained batch norm of a detector",
}


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


def short_commit(commit: str) -> str:
    """Write a commit briefly; a star marks files that differed from it."""
    digits, _, dirty = commit.partition("-")
    return digits[:7] + ("*" if dirty else "")


def commit_words(commits: Sequence[str]) -> str:
    """Write the commits that a run is the work of, in their order."""
    return ", ".join(map(short_commit, commits))


def place(table: str) -> str:
    """Write a place in the paper: table-6 is Table 6, fig-7 is Fig. 7; what is beyond it has a name."""
    match = re.fullmatch(r"(table|fig)-(\w+)", table)
    return f"{ {'table': 'Table', 'fig': 'Fig.'}[match[1]] } {match[2]}" if match else PLACES.get(table, table)


def moment(started: str) -> str:
    """Write when something began, to the minute: 2026-11-15 13:25."""
    return str(started)[:16].replace("T", " ")


def breakable(field: str) -> Markup:
    """Write a field's name, or name=value, so that a narrow column breaks it between its words."""
    from markupsafe import Markup

    return Markup(re.sub(r"(?<=[._=])", "<wbr>", str(Markup.escape(field))))


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
    "commits": commit_words,
    "place": place,
    "moment": moment,
    "field": write_value,
    "breakable": breakable,
}
