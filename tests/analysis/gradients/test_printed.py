"""Gradients in words and numbers."""

from __future__ import annotations

from tests.analysis.gradients.found import write_gradients

from reslab.analysis.gradients.printed import PRINTED


def test_a_sentence_says_where_and_how_it_was_measured() -> None:
    """With what all parameters and neighbouring inputs come to."""
    assert PRINTED.sentence(write_gradients()) == (
        "1,024 training images of cifar10 in 8 batches, at the weights, with the statistics of each batch; "
        "95 % confidence intervals over batches. All parameters: norm 3, cosine of batches 0.25 [0.23, 0.28]. "
        "Neighbouring inputs (1/32 of a line between two images apart): cosine 0.90 [0.81, 0.99] at conv1, "
        "0.10 [0.09, 0.11] at logits"
    )
    other = write_gradients() | {"initialized_by": 3, "skipped_images": 2}
    other["settings"] |= {"on": "test", "norms": "fixed", "path": "around"}
    told = PRINTED.sentence(other)
    assert "test images of cifar10 (bad images skipped: 2) in" in told
    assert "at the initialization of seed 3, with fixed statistics" in told
    assert "1/32 of a line around an image apart" in told


def test_every_layer_is_a_row() -> None:
    """Those beside the path too."""
    table = PRINTED.table(write_gradients())
    assert table.rows[0] == ("conv1", "0.001", "0.0001", "2", "0.5", "0.25 [0.23, 0.28]")
    assert [row[0] for row in table.rows] == ["conv1", "conv2_1.1", "conv3_1.shortcut"]
