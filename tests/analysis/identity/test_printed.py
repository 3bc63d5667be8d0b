"""Distances from the identity in words and numbers."""

from __future__ import annotations

from reslab.analysis.identity.printed import PRINTED

ROW = {
    "cosine": 0.9,
    "cosine_error": 0.01,
    "branch": 0.6,
    "branch_error": 0.02,
    "linear_share": 0.25,
    "output_linear_share": 0.5,
}
FOUND = {
    "data": "digits",
    "images": 355,
    "settings": {"on": "test", "confidence": 0.95},
    "blocks": [
        ROW | {"name": "conv2_1", "compared_with": "identity", "change": 0.5, "change_error": 0.01},
        ROW | {"name": "conv2_2", "compared_with": "identity", "change": 0.0, "change_error": 0.0},
        {
            "name": "conv3_1",
            "compared_with": "zero-padding",
            "change": 2.0,
            "change_error": 0.1,
            "cosine": 0.1,
            "cosine_error": 0.01,
            "branch": None,
            "linear_share": None,
            "output_linear_share": None,
        },
    ],
}


DEAD = {  # of a block that every image reaches as zeros
    "name": "conv3_2",
    "compared_with": "identity",
    "left_out": 355,
    "linear_share": None,
    "output_linear_share": None,
    **{f"{quantity}{part}": None for quantity in ("change", "cosine", "branch") for part in ("", "_error")},
}


def test_a_sentence_counts_what_is_exactly_the_identity() -> None:
    """Of the blocks that keep dimensions; others have no identity to be."""
    assert PRINTED.sentence(FOUND) == (
        "355 images of digits; of 2 blocks that keep dimensions 1 are exactly the identity, and in the median one what "
        "it changes is 0.250 times as long as its input"
    )
    assert PRINTED.sentence(FOUND | {"blocks": FOUND["blocks"][2:]}) == "355 images of digits"
    assert PRINTED.sentence(FOUND | {"blocks": [*FOUND["blocks"], DEAD]}) == PRINTED.sentence(FOUND)


def test_a_table_has_a_row_for_each_block() -> None:
    """What is not there is left out."""
    table = PRINTED.table(FOUND)
    assert table.rows[0] == ("conv2_1", "identity", "0.5000", "0.0100", "0.9000", "0.6000", "25.0", "50.0")
    assert table.rows[2][-3:] == ("", "", "")
    assert len(table.headings) == len(table.rows[0])
    (dead,) = PRINTED.table(FOUND | {"blocks": [DEAD]}).rows
    assert dead == ("conv3_2", "identity", *[""] * 6)


def test_what_moved_since_a_snapshot_is_said() -> None:
    """In the sentence, and block by block."""
    gone = {"step": 0, "weights": 0.0123, "outputs": 0.5, "judged_otherwise": 0.02, "wrong_then": 0.1, "wrong": 0.08}
    found = FOUND | {"since": gone, "blocks": [row | {"weights_moved": 0.031} for row in FOUND["blocks"]]}
    assert PRINTED.sentence(found).endswith(
        "; since step 0 the weights moved by 1.2 % of their length and the outputs by 50 %, 2.0 % of the images are "
        "judged otherwise, and 10.0 % wrong became 8.0 %"
    )
    untold = PRINTED.sentence(FOUND | {"since": gone | {"outputs": None}})
    assert "moved by 1.2 % of their length, 2.0 % of the images" in untold
    table = PRINTED.table(found)
    assert table.headings[-1] == "weights moved %" and [row[-1] for row in table.rows] == ["3.1"] * 3
