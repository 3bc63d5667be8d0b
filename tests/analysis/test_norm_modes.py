"""Batch normalization by its own statistics or by those of each batch."""

from __future__ import annotations

import torch
from torch import nn

from reslab.analysis.norm_modes import normalizing_by


def test_batches_normalize_themselves_and_leave_no_trace() -> None:
    """As torch in training does it, but for the running statistics."""
    norm = nn.BatchNorm2d(3).eval()
    x, before = 2 + torch.randn(8, 3, 4, 4), {name: tensor.clone() for name, tensor in norm.state_dict().items()}
    with normalizing_by("batch", norm):
        y = norm(x)
    assert torch.equal(y, nn.BatchNorm2d(3).train()(x))
    with normalizing_by("fixed", norm):
        assert torch.equal(norm(x), norm.eval()(x))
    assert all(torch.equal(before[name], tensor) for name, tensor in norm.state_dict().items())
    assert not norm.training and norm.track_running_stats
