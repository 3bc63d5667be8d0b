"""Lesions in words and numbers."""

from __future__ import annotations

from reslab.analysis.lesions.printed import PRINTED


def _row(wrong: float, **more: object) -> dict[str, object]:
    told = {"loss": 2 * wrong, "wrong": wrong, "more_loss": 0.1, "more_wrong": wrong - 0.1}
    return told | {"loss_error": 0.02, "wrong_error": 0.01} | more


FOUND = {
    "data": "digits",
    "images": 355,
    "settings": {"on": "test", "confidence": 0.95},
    "blocks": 2,
    "intact": {"loss": 0.3, "wrong": 0.1},
    "single": [
        _row(0.2, name="conv2_1", stage="conv2_x", left="identity"),
        _row(0.5, name="conv3_1", stage="conv3_x", left="average-pool"),
    ],
    "reset": [_row(0.3, name="conv2_1"), _row(0.4, name="conv3_1")],
    "pairs": [],
    "several": [{"deleted": 1, "wrong": 0.3, "wrong_std": 0.1}, {"deleted": 2, "wrong": 0.9, "wrong_std": 0.0}],
    "shuffled": [{"swaps": 3, "wrong": 0.8, "wrong_std": 0.05}],
    "paths_by_length": {"central": [1, 2]},
}


def test_a_sentence_has_each_kind_of_lesion() -> None:
    """From the least harmful to the worst, and the most that were deleted."""
    assert PRINTED.sentence(FOUND) == (
        "355 images of digits; intact: loss 0.3000, wrong 10.00 %; without one block 20.00 % to 50.00 %, median 35.00 "
        "%; with one set back 30.00 % to 40.00 %, median 35.00 %; without 2 90.00 %; after 3 exchanges 80.00 %; nine "
        "tenths of the gradient come along paths through 1 to 2 of 2 blocks"
    )
    few = PRINTED.sentence(FOUND | {"single": [], "reset": [], "several": [], "shuffled": [], "paths_by_length": None})
    assert few == "355 images of digits; intact: loss 0.3000, wrong 10.00 %"


def test_a_table_has_a_row_for_each_block() -> None:
    """What is left of it, what it costs, and what setting it back costs."""
    table = PRINTED.table(FOUND)
    assert table.rows[1] == ("conv3_1", "average pool, zeros", "1.0000", "50.00", "40.00", "1.00", "40.00")
    assert PRINTED.table(FOUND | {"single": []}).rows[0] == ("conv2_1", "", "", "", "", "", "30.00")
    assert len(table.headings) == len(table.rows[0])
    overflown = FOUND | {"single": [_row(0.9, name="conv2_1", left="identity", loss=None)]}
    assert PRINTED.table(overflown).rows[0][2:4] == ("", "90.00")
