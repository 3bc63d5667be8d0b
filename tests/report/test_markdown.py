"""Verdicts as Markdown."""

from __future__ import annotations

from reslab.paper.claims import CLAIMS
from reslab.report.markdown import gather_remarks, write_table, write_verdicts
from reslab.report.verdicts import Verdict

TABLE_6 = {claim.row: claim for claim in CLAIMS["table-6"]}


def test_a_table_has_a_line_a_verdict_and_the_remarks_below() -> None:
    """Published, mean ± std, n, difference and word; nothing where nothing was run."""
    deep = Verdict(claim=TABLE_6["ResNet-110"], word="reproduced", samples=((6.5, 6.7),), remarks="in bf16")
    lines = write_verdicts([deep, Verdict(claim=TABLE_6["ResNet-32"], word="not run")]).splitlines()
    assert lines == [
        "|  |  | published | ours, mean ± std | n | difference | verdict |",
        "|---|---|---:|---:|---:|---:|---|",
        "| ResNet-110 | test error % | 6.61 ± 0.16 | 6.60 ± 0.14 | 2 | −0.01 | reproduced |",
        "| ResNet-32 | test error % | 7.51 |  |  |  | not run |",
        "",
        "- ResNet-110: in bf16; published as a mean; the best run: 6.43.",
    ]


def test_one_remark_is_said_once() -> None:
    """With every row it is about, each once."""
    rows = ("ResNet-20", "ResNet-32", "ResNet-20")
    verdicts = [Verdict(claim=TABLE_6[row], word="reproduced", samples=((8.0,),), remarks="in bf16") for row in rows]
    assert gather_remarks(verdicts) == {"in bf16": ["ResNet-20", "ResNet-32"]}


def test_columns_are_aligned_as_asked() -> None:
    """Text to the left, numbers to the right."""
    assert write_table(("a", "b"), [("x", "1")]) == "| a | b |\n|---|---:|\n| x | 1 |"
