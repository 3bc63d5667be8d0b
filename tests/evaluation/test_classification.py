"""Scores against counting by hand."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from reslab.evaluation.classification import score


def test_errors_and_confusion() -> None:
    """Six classes, five images in two batches: top-1, top-5 and every cell."""
    logits = torch.tensor(
        [[9, 1, 2, 3, 4, 5], [9, 1, 2, 3, 4, 5], [1, 9, 2, 3, 4, 5], [9, 8, 7, 6, 5, 1], [1, 2, 3, 4, 5, 9]]
    ).float()
    labels = torch.tensor([0, 2, 1, 5, 5])
    batches = [(logits[:3], labels[:3]), (logits[3:], labels[3:])]
    scores = score(nn.Identity(), batches, classes=6)  # pyright: ignore[reportArgumentType]
    assert scores.error_percent == pytest.approx(40)
    assert scores.top5_error_percent == pytest.approx(20)
    assert scores.loss == pytest.approx(nn.functional.cross_entropy(logits, labels).item())
    assert scores.confusion[2][0] == scores.confusion[5][0] == scores.confusion[0][0] == 1
    assert sum(map(sum, scores.confusion)) == 5
    assert scores.class_error_percent == pytest.approx([0, 0, 100, 0, 0, 50])
