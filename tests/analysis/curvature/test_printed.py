"""Curvature in words and numbers."""

from __future__ import annotations

from tests.analysis.curvature.found import FOUND, estimate

from reslab.analysis.curvature.printed import PRINTED, write
from reslab.analysis.curvature.settings import Curvature
from reslab.spec.codec import encode


def test_a_sentence_says_what_was_measured() -> None:
    """All that a number of this kind depends on."""
    assert PRINTED.sentence(FOUND) == (
        "Hessian of the mean loss over 4,096 training images of cifar10, normalized by running statistics, "
        "weight decay 0, fp32: 269,722 parameters, 4 probes of 64 steps"
    )
    settings = encode(Curvature(matrix="gauss-newton", norms="batch", weight_decay=1e-4, on="test", precision="bf16"))
    assert PRINTED.sentence(FOUND | {"settings": settings, "skipped_images": 3}) == (
        "Gauss-Newton matrix of the mean loss over 4,096 test images of cifar10 (bad images skipped: 3), normalized by "
        "statistics of each batch of 128, weight decay 0.0001, bf16: 269,722 parameters, 4 probes of 64 steps"
    )


def test_estimates_come_with_their_bounds() -> None:
    """One probe alone has none."""
    assert write(estimate(12.3456, 0.5)) == ("12.35", "11.85", "12.85")
    assert write(estimate(12.3456)) == ("12.35", "", "")


def test_eigenvalues_then_the_trace_then_the_blocks() -> None:
    """A block that has no shortcut has one condition."""
    table = PRINTED.table(FOUND)
    assert table.title == "Spectrum of the Hessian"
    assert [row[0] for row in table.rows] == [
        "eigenvalue 1",
        "eigenvalue 2",
        "smallest eigenvalue",
        "trace",
        "condition of conv2_1",
        "condition of conv2_1 without its shortcut",
        "condition of conv3_1",
    ]
    assert table.rows[3] == ("trace", "120", "116", "124")
    assert table.rows[4] == ("condition of conv2_1", "90", "60", "")
