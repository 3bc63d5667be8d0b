"""Losses against a loop over what was sampled."""

from __future__ import annotations

import math

import pytest
import torch

from reslab.networks.detection.losses import classify_objects, classify_regions, place_boxes


def test_objects_are_told_from_background() -> None:
    """By the mean log loss of what was sampled; nothing sampled is no loss."""
    logits = torch.tensor([[2.0, -1.0, 5.0]])
    positive, negative = torch.tensor([[True, False, False]]), torch.tensor([[False, True, False]])
    expected = (math.log1p(math.exp(-2)) + math.log1p(math.exp(-1))) / 2
    assert float(classify_objects(logits, positive, negative)) == pytest.approx(expected)
    assert float(classify_objects(logits, negative & positive, negative & positive)) == 0


def test_classes_are_told_of_regions_that_count() -> None:
    """The others have no part."""
    logits, labels = torch.randn(4, 3), torch.tensor([0, 2, 1, 0])
    expected = -sum(float(logits[row].log_softmax(0)[labels[row]]) for row in (0, 1, 3)) / 3
    sampled = torch.tensor([True, True, False, True])
    assert float(classify_regions(logits, labels, sampled)) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("beta", [1.0, 1 / 9])
def test_boxes_count_where_there_are_objects(beta: float) -> None:
    """Square up to beta and linear from there, as a mean over all that was sampled."""
    codes, targets = torch.randn(5, 4), torch.randn(5, 4)
    positive, sampled = torch.tensor([1, 0, 1, 0, 0]).bool(), torch.tensor([1, 1, 1, 1, 0]).bool()
    total = 0.0
    for row in (0, 2):
        for away in (codes[row] - targets[row]).abs().tolist():
            total += 0.5 * away**2 / beta if away < beta else away - 0.5 * beta
    assert float(place_boxes(codes, targets, positive, sampled, beta=beta)) == pytest.approx(total / 4, rel=1e-5)
