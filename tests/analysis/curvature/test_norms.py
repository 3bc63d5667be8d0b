"""Batch normalization with its tangents, against torch's derivatives of it and of its gradient."""

from __future__ import annotations

import pytest
from tests.analysis.curvature.problems import check_operator
from torch import nn

from reslab.analysis.curvature.norms import BatchNorm, FixedNorm


def make_norm(*, tracks: bool) -> nn.BatchNorm2d:
    """Some normalization."""
    module = nn.BatchNorm2d(3, track_running_stats=tracks).double()
    for tensor in (module.weight, *([module.running_var] if tracks else [])):
        nn.init.uniform_(tensor, 0.5, 1.5)  # pyright: ignore[reportArgumentType]
    nn.init.normal_(module.bias)
    if module.running_mean is not None:
        nn.init.normal_(module.running_mean)
    return module


@pytest.mark.parametrize("count", [1, 2])
def test_by_fixed_statistics(count: int) -> None:
    """An affine map of each channel."""
    module = make_norm(tracks=True).eval()
    check_operator(FixedNorm(module), module, (4, 3, 2, 5), count=count)


@pytest.mark.parametrize("count", [1, 2])
def test_by_the_statistics_of_the_batch(count: int) -> None:
    """Through which every image moves every other, and the gradient of every other."""
    module = make_norm(tracks=False).train()
    check_operator(BatchNorm(module), module, (4, 3, 2, 5), count=count)
