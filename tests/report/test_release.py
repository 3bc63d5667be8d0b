"""The authors' weights by our testing, beside what was published of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from reslab.report.release import judge_release
from reslab.runs.released import ReleaseTest, place_test, write_test


def record(root: Path, protocol: str, top1: float, *, images: int = 5_000, top5: float = 7.8) -> None:
    """Leave the record of a test."""
    test = ReleaseTest(
        network="resnet-50",
        weights="imagenet",
        protocol=protocol,
        precision="fp32",
        data=f"of-{images}",
        fingerprint="0123456789abcdef",
        images=images,
        scores={"error_percent": top1, "top5_error_percent": top5},
        surroundings={},
    )
    known = ("network", "data", "fingerprint", "protocol", "precision")
    write_test(test, place_test(root, **{name: getattr(test, name) for name in known}))


@pytest.mark.parametrize(
    ("ours", "images", "word"),
    [
        (24.28, 5_000, "agrees"),
        (25.9, 5_000, "agrees"),  # 1.2 off, where two standard errors are 1.16
        (26.1, 5_000, "deviates"),
        (24.8, 50_000, "reproduced"),
        (25.0, 50_000, "deviates"),
        (27.0, 500, "agrees"),
    ],
)
def test_chance_decides_by_the_number_of_images(ours: float, images: int, word: str, tmp_path: Path) -> None:
    """Of fewer than all it never reads reproduced."""
    record(tmp_path, "1-crop", ours, images=images)
    top1, top5, *others = judge_release(tmp_path)
    assert (top1.ours, top1.images, top1.word, top1.quantity) == (ours, images, word, "top-1 error %, 1-crop")
    assert (top5.published, top5.difference) == (7.8, 0.0)
    assert {one.word for one in others} == {"not run"}


def test_the_test_of_most_images_counts(tmp_path: Path) -> None:
    """Its standard error is that of a share of so many."""
    record(tmp_path, "10-crop", 30.0, images=100)
    record(tmp_path, "10-crop", 22.4, images=5_000)
    verdict = next(one for one in judge_release(tmp_path) if one.quantity == "top-1 error %, 10-crop")
    assert (verdict.ours, verdict.data) == (22.4, "of-5000")
    assert verdict.standard_error == pytest.approx(0.5896, abs=1e-3)
    assert verdict.difference == pytest.approx(-0.45)
