"""Boxes against torchvision's functions and against counting pixels."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torchvision.models.detection._utils import BoxCoder
from torchvision.ops import box_iou, clip_boxes_to_image

from reslab.networks.detection.boxes import are_inside, are_large, clip, decode, encode, intersections, overlaps


def draw_boxes(count: int, seed: int, *, most: int = 40) -> Tensor:
    """Boxes of whole pixels, of which some are empty."""
    corners = np.random.default_rng(seed).integers(0, most, (count, 2, 2)).astype(np.float32)
    return torch.from_numpy(np.concatenate([corners.min(1), corners.max(1)], axis=1))


@given(st.integers(0, 1000))
def test_overlaps_are_counted_pixels(seed: int) -> None:
    """Boxes reach from edge to edge, so those of whole pixels cover that many."""
    boxes, others = draw_boxes(4, seed), draw_boxes(3, seed + 1)
    covered = torch.zeros(7, 40, 40)
    for mask, (left, top, right, bottom) in zip(covered, torch.cat([boxes, others]).int().tolist(), strict=True):
        mask[top:bottom, left:right] = 1
    for i, first in enumerate(covered[:4]):
        for j, second in enumerate(covered[4:]):
            shared, either = (first * second).sum(), torch.maximum(first, second).sum()
            assert intersections(boxes, others)[i, j] == shared
            assert overlaps(boxes, others)[i, j] == pytest.approx(float(shared / either) if either else 0)


def test_overlaps_are_torchvisions() -> None:
    """In batches too."""
    boxes, others = (draw_boxes(60, seed).view(2, 30, 4) + 0.25 for seed in (1, 2))
    expected = torch.stack([box_iou(*pair) for pair in zip(boxes, others, strict=True)])
    assert torch.equal(overlaps(boxes, others).nan_to_num(0), expected.nan_to_num(0))


@pytest.mark.parametrize("weights", [(1.0, 1.0, 1.0, 1.0), (10.0, 10.0, 5.0, 5.0)])
def test_codes_are_torchvisions_and_lead_back(weights: tuple[float, ...]) -> None:
    """Codes that are far off lead no farther than 62.5 times a side."""
    boxes, anchors = (draw_boxes(50, seed) + torch.tensor([0.0, 0.0, 1.0, 2.0]) for seed in (3, 4))
    coder = BoxCoder(weights=weights)  # pyright: ignore[reportArgumentType]
    codes = encode(boxes, anchors, weights)
    torch.testing.assert_close(codes, coder.encode_single(boxes, anchors))
    torch.testing.assert_close(decode(codes, anchors, weights), boxes, rtol=1e-5, atol=1e-4)
    wild = torch.randn(50, 4) * 30
    torch.testing.assert_close(decode(wild, anchors, weights), coder.decode_single(wild, anchors))


def test_empty_boxes_have_finite_codes() -> None:
    """They are targets of nothing, but their gradient is multiplied by zero and must be a number."""
    assert encode(torch.zeros(3, 4), draw_boxes(3, 0)).isfinite().all()


def test_boxes_are_cut_off_at_their_frames() -> None:
    """Each image has its own."""
    boxes = draw_boxes(40, 5, most=80).view(2, 20, 4) - 20
    frames = torch.tensor([[0.0, 0.0, 30.0, 20.0], [0.0, 0.0, 50.0, 60.0]])
    clipped = clip(boxes, frames[:, None])
    assert torch.equal(clipped[0], clip_boxes_to_image(boxes[0], (20, 30)))
    assert torch.equal(clipped[1], clip_boxes_to_image(boxes[1], (60, 50)))
    assert torch.equal(are_inside(boxes, frames[:, None]), (clipped == boxes).all(-1))


def test_small_boxes_are_told() -> None:
    """By their shorter side."""
    boxes = torch.tensor([[0.0, 0.0, 16.0, 16.0], [0.0, 0.0, 100.0, 15.9], [5.0, 5.0, 5.0, 50.0]])
    assert are_large(boxes, 16).tolist() == [True, False, False]
