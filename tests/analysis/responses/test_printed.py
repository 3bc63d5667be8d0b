"""Layer responses in words and numbers."""

from __future__ import annotations

import pytest

from reslab.analysis.responses.printed import PRINTED, mean_std, spread

LAYERS = [
    {"name": f"conv{n}", "std": std, "low": std - 0.1, "high": std + 0.1} for n, std in enumerate((1.0, 3.0, 2.0))
]
SETTINGS = {"confidence": 0.95, "on": "test"}
FOUND = {
    "data": "digits",
    "images": 1355,
    "settings": SETTINGS,
    "counted": "3x3",
    "layers": LAYERS,
    "skipped_images": 0,
}


def test_a_sentence_says_on_what_it_was_measured() -> None:
    """Bad images are told where there were any."""
    assert PRINTED.sentence(FOUND) == "1,355 images of digits; 95 % confidence intervals over images"
    told = PRINTED.sentence(FOUND | {"skipped_images": 2, "settings": {"confidence": 0.9, "on": "train"}})
    assert told == "1,355 training images of digits (bad images skipped: 2); 90 % confidence intervals over images"


@pytest.mark.parametrize(("counted", "which"), [("3x3", "the 3x3 layers"), ("all", "all layers")])
def test_layers_are_in_their_order_with_their_ranks(counted: str, which: str) -> None:
    """The largest has the first."""
    table = PRINTED.table(FOUND | {"counted": counted})
    assert table.title == f"Standard deviation of the responses of {which}"
    assert [row[-1] for row in table.rows] == ["3", "1", "2"]
    assert table.rows[1] == ("conv1", "3.0000", "2.9000", "3.1000", "1")


def test_the_spread_over_layers() -> None:
    """How many, their mean, median, largest and smallest."""
    assert spread(FOUND) == ["3", "2.000", "2.000", "3.000", "1.000"]
    assert mean_std(FOUND) == 2
