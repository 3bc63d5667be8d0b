"""What shortcuts and branches carry, in words and as a table; no torch."""

import statistics
from collections.abc import Mapping
from typing import Any

from reslab.analysis.catalogue import PrintedInstrument
from reslab.numbers import count
from reslab.tasks.display import PrintedTable


def _say(found: Mapping[str, Any]) -> str:
    settings, rows = found["settings"], found["additions"]
    of = "training images" if settings["on"] == "train" else "images"
    skipped = f" (bad images skipped: {count(found['skipped_images'])})" if found.get("skipped_images") else ""
    forward, backward = (
        100 * statistics.median(row[name] for row in rows) for name in ("branch_share", "gradient_branch_share")
    )
    told = (
        f"{count(found['images'])} {of} of {found['data']}{skipped}; in the median block the branch has "
        f"{forward:.1f} % of the energy forward and {backward:.1f} % backward"
    )
    if "gate_mean" in rows[0]:
        gates = [row["gate_mean"] for row in rows]
        told += f"; gates are open by {statistics.mean(gates):.3f}, from {min(gates):.3f} to {max(gates):.3f}"
    return told


def _tabulate(found: Mapping[str, Any]) -> PrintedTable:
    gated = "gate_mean" in found["additions"][0]
    headings = ("block", "shortcut<", "std shortcut", "std branch", "branch %", "cosine", "back: branch %", "cosine ")
    return PrintedTable(
        title="At each addition, means over images",
        headings=(*headings, "gate", "var", "open %") if gated else headings,
        rows=tuple((*_cells(row), *(_gate_cells(row) if gated else ())) for row in found["additions"]),
    )


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        row["name"],
        row["shortcut"],
        f"{row['shortcut_std']:.4f}",
        f"{row['branch_std']:.4f}",
        f"{100 * row['branch_share']:.1f}",
        f"{row['cosine']:.3f}",
        f"{100 * row['gradient_branch_share']:.1f}",
        f"{row['gradient_cosine']:.3f}",
    )


def _gate_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    return f"{row['gate_mean']:.3f}", f"{row['gate_variance']:.4f}", f"{100 * row['gate_open']:.1f}"


PRINTED = PrintedInstrument(sentence=_say, table=_tabulate)
