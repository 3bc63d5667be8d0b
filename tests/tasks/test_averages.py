"""Averages are of probabilities, whatever the order of what is averaged."""

from __future__ import annotations

import torch

from reslab.tasks.averages import average_sigmoid, average_softmax


def test_averages_are_of_softmax() -> None:
    """One view is left alone, the order does not matter, and what is nearly impossible stays finite."""
    logits = torch.randn(3, 4, 6)
    expected = logits.softmax(-1).mean(1).log()
    assert torch.allclose(average_softmax(logits), expected, atol=1e-6)
    assert torch.equal(average_softmax(logits), average_softmax(logits[:, [2, 0, 3, 1]]))
    assert torch.equal(average_softmax(logits[:, :1]), logits[:, 0])
    assert average_softmax(torch.tensor([[[0.0, -300.0], [0.0, -400.0]]])).isfinite().all()


def test_sigmoids_are_averaged_as_probabilities() -> None:
    """Of each label by itself, whatever the order of views, and also where it is all but sure."""
    torch.manual_seed(0)
    logits = torch.randn(3, 4, 5)
    assert torch.allclose(average_sigmoid(logits).sigmoid(), logits.sigmoid().mean(1), atol=1e-6)
    assert torch.equal(average_sigmoid(logits[:, :1]), logits[:, 0])
    assert average_sigmoid(torch.tensor([[[90.0, -300.0], [90.0, -400.0]]])).isfinite().all()
