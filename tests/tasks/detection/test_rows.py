"""Rows of test images."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.detections import make_tested

from reslab.tasks.detection.rows import ImageSet, take


def test_rows_are_sorted_by_image() -> None:
    """Those of one image stay in order."""
    tested = make_tested(0)
    order = np.random.default_rng(0).permutation(len(tested.detections.score))
    mixed = ImageSet.in_order(images=12, classes=3, objects=tested.objects, detections=take(tested.detections, order))
    assert (np.diff(mixed.detections.image) >= 0).all()
    here = tested.detections.image[order] == 4
    assert mixed.detections.score[mixed.detections.image == 4].tolist() == (
        tested.detections.score[order][here].tolist()
    )


def test_rows_of_other_images_or_classes_are_refused() -> None:
    """They would be counted nowhere."""
    tested = make_tested(0)
    for column in ("image", "label"):
        wrong = replace(tested.detections, **{column: np.full(150, 99)})
        with pytest.raises(ValueError, match="there are"):
            ImageSet.in_order(images=12, classes=3, objects=tested.objects, detections=wrong)


def test_areas_are_those_of_boxes() -> None:
    """As COCO has them for detections."""
    tested = make_tested(0)
    left, top, right, bottom = tested.detections.box.T
    assert tested.detections.area.tolist() == ((right - left) * (bottom - top)).tolist()
