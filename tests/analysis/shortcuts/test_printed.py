"""Shortcuts and branches in words and numbers."""

from __future__ import annotations

from reslab.analysis.shortcuts.printed import PRINTED

ROW = {
    "name": "conv2_1",
    "shortcut": "identity",
    "shortcut_std": 1.0,
    "branch_std": 0.5,
    "branch_share": 0.2,
    "branch_share_error": 0.01,
    "cosine": -0.1,
    "cosine_error": 0.02,
    "gradient_branch_share": 0.3,
    "gradient_branch_share_error": 0.02,
    "gradient_cosine": 0.05,
}
GATE = {"gate_mean": 0.15, "gate_variance": 0.02, "gate_open": 0.1}
FOUND = {
    "data": "digits",
    "images": 355,
    "settings": {"on": "train", "confidence": 0.95},
    "additions": [ROW, ROW | {"name": "conv2_2", "branch_share": 0.4}],
}


def test_a_sentence_has_the_median_block() -> None:
    """And how far gates are open, where there are any."""
    told = (
        "355 training images of digits; in the median block the branch has 30.0 % of the energy forward and 30.0 % "
        "backward"
    )
    assert PRINTED.sentence(FOUND) == told
    gated = FOUND | {"additions": [ROW | GATE, ROW | GATE | {"gate_mean": 0.25}]}
    assert (
        PRINTED.sentence(gated)
        == f"{told.replace('30.0 % of', '20.0 % of')}; gates are open by 0.200, from 0.150 to 0.250"
    )


def test_a_table_has_columns_for_gates_where_there_are_some() -> None:
    """A row for each addition."""
    table = PRINTED.table(FOUND)
    assert table.rows[0] == ("conv2_1", "identity", "1.0000", "0.5000", "20.0", "-0.100", "30.0", "0.050")
    gated = PRINTED.table(FOUND | {"additions": [ROW | GATE]})
    assert gated.rows[0][-3:] == ("0.150", "0.0200", "10.0")
    assert len(table.headings) == len(table.rows[0]) and len(gated.headings) == len(gated.rows[0])
