"""Maps compared image by image."""

from __future__ import annotations

import pytest
import torch

from reslab.analysis.identity.comparing import compare


def test_equal_maps_are_equal() -> None:
    """Where both are zero too; opposite ones have the cosine -1."""
    x = torch.tensor([[1.0, 2.0], [0.0, 0.0], [1.0, 0.0], [3.0, 4.0]])
    change, cosine = compare(x, torch.tensor([[1.0, 2.0], [0.0, 0.0], [-1.0, 0.0], [6.0, 8.0]]))
    assert change.tolist() == [0, 0, 2, 1]
    assert cosine.tolist() == pytest.approx([1, 1, -1, 1])


def test_zeros_have_nothing_in_common_with_others() -> None:
    """And nothing is long relative to them."""
    change, cosine = compare(torch.tensor([[0.0, 0.0], [3.0, 4.0]]), torch.tensor([[3.0, 4.0], [0.0, 0.0]]))
    assert change.tolist() == [float("inf"), 1] and cosine.tolist() == [0, 0]
