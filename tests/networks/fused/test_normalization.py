"""Normalization, addition and ReLU by our kernels against torch's: in Triton's interpreter, in float32."""

from typing import Any

import pytest
import torch
from tests.networks.fused.interpreting import interpret
from torch import nn

PASSES: list[dict[str, Any]] = [
    {"shape": (2, 64, 5, 7)},
    {"shape": (3, 16, 9, 11), "uses": 1},  # more parts than one, the last not full
    {"shape": (7, 16, 9, 11), "added": "map"},
    {"shape": (7, 48, 9, 11), "added": "projection"},
    {"shape": (2, 128, 3, 3), "added": "map", "uses": 1},
    {"shape": (2, 128, 3, 3), "added": "projection", "uses": 1},
    {"shape": (1, 2048, 1, 3)},
    {"shape": (2, 16, 1, 2), "added": "map"},
    {"shape": (5, 16, 9, 11), "offset": 1000.0},
    {"shape": (2, 16, 8, 10), "pool": "padded"},
    {"shape": (2, 32, 9, 7), "pool": "padded", "uses": 1},
    {"shape": (2, 16, 8, 10), "pool": "ceil"},
    {"shape": (2, 16, 9, 7), "pool": "ceil"},
]
NANS = [{"pool": False}, {"pool": True}]


def test_passes_are_torchs() -> None:
    """Outputs, gradients and statistics, whatever is added, for odd sizes and wide maps, far from zero, pooled."""
    cases = [("pass", case) for case in PASSES] + [("nans", case) for case in NANS]
    found = interpret("between", cases)
    for case, distances in zip(PASSES, found, strict=False):
        # Far from zero float32 itself says less of a response; sums of plain squares would say nothing.
        limit = 2e-4 if "offset" in case else 1e-5
        assert len(distances) == 7 + 5 * (case.get("added") == "projection") + (case.get("added") == "map")
        assert all(value < limit for value in distances.values()), (case, distances)
    for seen in found[len(PASSES) :]:
        assert seen == {"of it": 1.0, "of others": 0.0}  # what is no number must reach the loss


def test_one_value_has_no_deviation() -> None:
    """So there is nothing to normalize by, as torch says too."""
    pytest.importorskip("triton")
    from reslab.networks.fused.normalization import activate

    with pytest.raises(ValueError, match=r"more than one value per channel; the responses have shape \(1, 16, 1, 1\)"):
        activate(torch.ones(1, 16, 1, 1), nn.BatchNorm2d(16))


@pytest.mark.parametrize("layout", [torch.channels_last, torch.contiguous_format])
def test_narrow_kernels_hand_their_gradients_back(layout: torch.memory_format) -> None:
    """In the kernels' own precision and layout; those that are frozen get none."""
    pytest.importorskip("triton")
    from reslab.networks.fused.normalization import narrow

    shapes = [(8, 4, 3, 3), (8, 4, 1, 1), (4, 8, 3, 3)]
    weights = [torch.randn(shape).contiguous(memory_format=layout).requires_grad_() for shape in shapes]
    weights[1].requires_grad_(False)
    copies = narrow(weights, torch.bfloat16)
    assert [copy.requires_grad for copy in copies] == [True, False, True]
    upstream = [torch.randn(shape).bfloat16() for shape in shapes]
    torch.autograd.backward([copies[0], copies[2]], [upstream[0], upstream[2]])
    for weight, copy, gradient in zip(weights, copies, upstream, strict=True):
        assert copy.stride() == weight.stride()
        assert torch.equal(copy, weight.bfloat16())
        if weight.requires_grad:
            assert weight.grad is not None
            assert weight.grad.stride() == weight.stride()
            assert torch.equal(weight.grad, gradient.float())
        else:
            assert weight.grad is None
