"""The scale of a loss in float16: it goes down at once and up slowly, and has two ends."""

from __future__ import annotations

import torch
from torch import Tensor

from reslab.training import scaling
from reslab.training.scaling import FIRST, LARGEST, SMALLEST, LossScale

YES, NO = torch.tensor(True), torch.tensor(False)


def follow(scale: LossScale, *finite: Tensor) -> list[float]:
    found = []
    for one in finite:
        scale.follow(one)
        found.append(scale.factor.item())
    return found


def test_it_halves_at_once_and_doubles_in_time(monkeypatch) -> None:
    """Three good iterations in a row count here; an overflow starts their count anew."""
    monkeypatch.setattr(scaling, "STEADY", 3)
    scale = LossScale(torch.device("cpu"))
    half = FIRST / 2
    assert follow(scale, YES, YES, NO, YES, YES, YES, YES) == [FIRST, FIRST, half, half, half, FIRST, FIRST]


def test_it_has_ends(monkeypatch) -> None:
    """Beyond them nothing is to be gained."""
    monkeypatch.setattr(scaling, "STEADY", 1)
    scale = LossScale(torch.device("cpu"))
    assert follow(scale, *[YES] * 10)[-1] == LARGEST
    helped = [bool(scale.follow(NO)) for _ in range(32)]
    assert scale.factor == SMALLEST
    assert helped == [True] * 30 + [False] * 2
