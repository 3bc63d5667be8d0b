"""Detections are compared with their counterparts, wherever they stand."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from reslab.delivery.detection_parity import compare_detections, refuse_difference
from reslab.errors import UserError
from reslab.spec.boxes import ABSENT


def make_rows(count: int, *, absent: int = 0) -> Tensor:
    """Detections of three classes by turns, and rows without one."""
    rows = torch.rand(count, 6, generator=torch.Generator().manual_seed(count)) * 100
    rows[:, 4], rows[:, 5] = torch.linspace(0.9, 0.1, count), torch.arange(count) % 3
    nothing = torch.zeros(absent, 6)
    nothing[:, 5] = ABSENT
    return torch.cat([rows, nothing])


def test_places_do_not_matter() -> None:
    """Nor how many rows are absent; how far counterparts are from each other is told."""
    rows = make_rows(20, absent=3)
    moved = rows[:20].flip(0).clone()
    moved[0, 2] += 0.004
    moved[5, 4] -= 2e-4
    parity = compare_detections([(rows, moved), (make_rows(0, absent=2), make_rows(0, absent=2))])
    assert parity.agrees and (parity.images, parity.detections, parity.alike) == (2, 40, 40)
    assert parity.box_difference == pytest.approx(0.004, abs=1e-4)
    assert parity.score_difference == pytest.approx(2e-4, abs=1e-6)


@pytest.mark.parametrize(("column", "amount"), [(0, 0.1), (3, -0.1), (4, 0.01), (5, 1.0), (1, float("nan"))])
def test_what_is_elsewhere_or_something_else_has_no_counterpart(column: int, amount: float) -> None:
    """One of a hundred may differ, two may not."""
    rows = make_rows(100)
    other = rows.clone()
    other[7, column] += amount
    parity = compare_detections([(rows, other)])
    assert parity.agrees and parity.alike == 198
    other[8, column] += amount
    parity = compare_detections([(rows, other)])
    assert not parity.agrees and parity.alike == 196
    with pytest.raises(UserError, match=r"x\.onnx was not written: 4 of 200 detections of the network and the file"):
        refuse_difference(Path("x.onnx"), parity)


def test_nothing_found_is_nothing_checked() -> None:
    """Then images that show something are asked for."""
    parity = compare_detections([(make_rows(0, absent=4), make_rows(0, absent=4))])
    assert not parity.agrees
    with pytest.raises(UserError, match=r"finds nothing in the 1 images.*give images that show its classes"):
        refuse_difference(Path("x.onnx"), parity)
