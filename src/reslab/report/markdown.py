"""Verdicts as Markdown: the tables of the README and the docs."""

import textwrap
from collections.abc import Iterable, Sequence

from reslab.numbers import signed
from reslab.report.notation import ours
from reslab.report.verdicts import Verdict

LONGEST_LINE = 120


def write_verdicts(verdicts: Sequence[Verdict]) -> str:
    """Write verdicts as a table and, below it, the remarks on them."""
    return "\n\n".join(filter(None, (write_rows(verdicts), write_remarks(verdicts))))


def write_rows(verdicts: Sequence[Verdict]) -> str:
    """Write verdicts as a table."""
    rows = [
        (
            verdict.claim.row,
            verdict.claim.quantity,
            verdict.claim.published_words,
            ours(verdict),
            str(verdict.n or ""),
            signed(verdict.difference),
            verdict.word,
        )
        for verdict in verdicts
    ]
    return write_table(("", "", "published", "ours, mean ± std", "n", "difference", "verdict"), rows, left=(0, 1, 6))


def write_remarks(verdicts: Sequence[Verdict]) -> str:
    """Write what is to be said beside the numbers as a list."""
    return "\n".join(
        textwrap.fill(f"- {', '.join(rows)}: {remark}.", LONGEST_LINE, subsequent_indent="  ")
        for remark, rows in gather_remarks(verdicts).items()
    )


def gather_remarks(verdicts: Iterable[Verdict]) -> dict[str, list[str]]:
    """Return what is to be said beside the numbers, each remark with the rows it is about."""
    remarks: dict[str, list[str]] = {}
    for verdict in verdicts:
        remark = "; ".join(filter(None, (verdict.remarks, verdict.claim.note)))
        if remark and verdict.claim.row not in (rows := remarks.setdefault(remark, [])):
            rows.append(verdict.claim.row)
    return remarks


def write_table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, left: Sequence[int] = (0,)) -> str:
    """Write a table; columns but those named `left` are numbers."""
    rule = "|".join("---" if index in left else "---:" for index in range(len(heads)))
    head, *lines = ("| " + " | ".join(cells) + " |" for cells in (heads, *rows))
    return "\n".join([head, f"|{rule}|", *lines])
