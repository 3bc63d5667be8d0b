"""Fitted laws in words and numbers."""

from __future__ import annotations

from typing import Any

from reslab.analysis.convergence.printed import PRINTED


def _law(**more: Any) -> dict[str, Any]:
    told = {"floor": 5.0, "floor_low": 4.5, "floor_high": 5.5, "rate": 0.2, "rate_low": 0.15, "rate_high": 0.25}
    return told | {"residual": 0.05, "determined": True} | more


def _found(**more: Any) -> dict[str, Any]:
    reach = {"value": 5.2, "iterations": 12345.6, "low": 12000.0, "high": None}
    laws = {"exponential": _law(reach=reach) if more else _law(), "power": _law(determined=False)}
    phase = {"learning_rate": 0.1, "last": 6.0, "laws": laws, "better": "exponential"}
    curve = {"words": "error", "unit": "%", "decimals": 2, "phases": [phase]}
    settings = {"skip": 0.1, "confidence": 0.95, "reach": more.get("reach", 0.0)}
    return {"settings": settings, "against": None, "curves": [curve]} | more


def test_a_sentence_says_what_was_fitted() -> None:
    """And what is to be reached, where anything is."""
    told = PRINTED.sentence(_found())
    assert told.endswith("without its first 10 %; a star marks the law that fits better")
    assert PRINTED.sentence(_found(reach=5.2)).endswith("'reached' is when the law comes down to 5.2")
    rival = _found(against={"run": "resnet-20-x", "network": "resnet-20"})
    assert PRINTED.sentence(rival).endswith("comes down to resnet-20 at the end of its like phase")


def test_a_table_has_a_row_for_each_law() -> None:
    """A rate that the curve does not tell is left out."""
    table = PRINTED.table(_found())
    assert table.rows[0] == ("error %", "0.1", "exp*", "6.00", "5.00", "4.50–5.50", "0.200", "0.150–0.250")
    assert table.rows[1][2] == "power" and table.rows[1][-2:] == ("", "")
    assert len(table.headings) == len(table.rows[0])


def test_what_is_never_reached_is_said() -> None:
    """At the upper end of the interval, here."""
    table = PRINTED.table(_found(reach=5.2))
    assert table.rows[0][-2:] == ("12,346", "12,000–never")
    assert table.rows[1][-2:] == ("", "")
    assert len(table.headings) == len(table.rows[0])
