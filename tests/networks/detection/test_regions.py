"""Regions against torchvision's RoIAlign and RoI pooling, forward and back, and against finite differences."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torchvision.ops import MultiScaleRoIAlign, roi_align, roi_pool

from reslab.networks.detection.regions import align, pool_max


def draw_boxes(count: int, *, width: int, height: int) -> Tensor:
    """Boxes inside an image, some of them of whole pixels, some tiny."""
    corners = torch.rand(count, 2, 2) * torch.tensor([width, height])
    boxes = torch.cat([corners.amin(1), corners.amax(1)], dim=1)
    boxes[::3] = boxes[::3].round()
    boxes[1, 2:] = boxes[1, :2] + 0.1
    boxes[2] = torch.tensor([0.0, 0.0, width, height])
    return boxes


def compare(ours: Callable[[Tensor], Tensor], theirs: Callable[[Tensor], Tensor], map_: Tensor) -> None:
    """Values and gradients agree."""
    first, second = (map_.clone().requires_grad_() for _ in range(2))
    values, expected = ours(first), theirs(second)
    torch.testing.assert_close(values, expected, rtol=1e-5, atol=1e-5)
    weights = torch.randn_like(expected)
    (values * weights).sum().backward()
    (expected * weights).sum().backward()
    assert first.grad is not None and second.grad is not None
    torch.testing.assert_close(first.grad, second.grad, rtol=1e-4, atol=1e-4)


@given(st.integers(0, 10_000), st.booleans(), st.integers(1, 3), st.sampled_from([1, 4, 16]))
def test_align_is_torchvisions(seed: int, shifted: bool, samples: int, stride: int) -> None:
    """Both forms of it, at any number of samples, for boxes of several images."""
    torch.manual_seed(seed)
    map_ = torch.randn(2, 3, 7, 9)
    boxes = draw_boxes(8, width=9 * stride, height=7 * stride)
    images = torch.randint(2, (8,))
    rois = torch.cat([images[:, None].float(), boxes], dim=1)
    compare(
        lambda x: align([x], boxes, images, strides=[stride], side=5, samples=samples, shifted=shifted),
        lambda x: roi_align(x, rois, 5, 1 / stride, samples, shifted),
        map_,
    )


@given(st.integers(0, 10_000), st.sampled_from([1, 4, 16]), st.sampled_from([2, 7, 14]))
def test_pooling_is_torchvisions(seed: int, stride: int, side: int) -> None:
    """With more bins than pixels, too; of equal values the first has the gradient."""
    torch.manual_seed(seed)
    map_ = torch.randn(2, 3, 7, 9).round(decimals=1)
    boxes = draw_boxes(8, width=9 * stride, height=7 * stride)
    images = torch.randint(2, (8,))
    rois = torch.cat([images[:, None].float(), boxes], dim=1)
    compare(
        lambda x: pool_max(x, boxes, images, stride=stride, side=side),
        lambda x: roi_pool(x, rois, side, 1 / stride),
        map_,
    )


def test_levels_share_a_table() -> None:
    """Regions of a pyramid, each from its own map, as torchvision assigns them."""
    maps = {str(level): torch.randn(2, 4, 64 >> level, 96 >> level) for level in range(4)}
    boxes = draw_boxes(20, width=384, height=256)
    theirs = MultiScaleRoIAlign(list(maps), 7, 2)
    expected = theirs(maps, [boxes[:10], boxes[10:]], [(256, 384)] * 2)
    levels = (
        (4 + torch.log2((boxes[:, 2:] - boxes[:, :2]).prod(1).sqrt() / 224) + 1e-6).floor().clamp(2, 5) - 2
    ).long()
    assert len(levels.unique()) > 1
    images = torch.arange(2).repeat_interleave(10)
    strides = [4, 8, 16, 32]
    values = align(list(maps.values()), boxes, images, levels=levels, strides=strides, side=7, samples=2, shifted=False)
    torch.testing.assert_close(values, expected, rtol=1e-5, atol=1e-5)


def test_gradients_are_slopes() -> None:
    """In float64, against finite differences."""
    map_ = torch.randn(2, 2, 4, 5, dtype=torch.float64, requires_grad=True)
    boxes, images = draw_boxes(4, width=20, height=16).double(), torch.tensor([0, 1, 1, 0])
    assert torch.autograd.gradcheck(
        lambda x: align([x], boxes, images, strides=[4], side=3, samples=2, shifted=True), (map_,)
    )
    assert torch.autograd.gradcheck(lambda x: pool_max(x, boxes - 1, images, stride=4, side=3), (map_,))


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_narrow_maps_give_narrow_regions(layout: torch.memory_format) -> None:
    """Added up in float32, and in whatever layout."""
    map_ = torch.randn(1, 8, 6, 6).to(memory_format=layout)
    boxes, images = draw_boxes(5, width=96, height=96), torch.zeros(5, dtype=torch.long)
    wide, narrow = (
        align([each], boxes, images, strides=[16], side=7, samples=2, shifted=True)
        for each in (map_, map_.to(torch.bfloat16))
    )
    assert narrow.dtype == torch.bfloat16
    torch.testing.assert_close(narrow.float(), wide, rtol=2e-2, atol=2e-2)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("pooling", ["max", "align"])
def test_gradients_are_the_same_twice(pooling: str) -> None:
    """On the device, where many regions add to the same pixels, bit for bit, and as the host has them."""
    map_, boxes = torch.randn(2, 64, 38, 50), draw_boxes(128, width=800, height=600)
    images, weights = torch.randint(2, (128,)), torch.randn(128, 64, 14, 14)

    def differentiate(device: str) -> Tensor:
        x = map_.to(device).requires_grad_()
        given = (boxes.to(device), images.to(device))
        if pooling == "max":
            values = pool_max(x, *given, stride=16, side=14)
        else:
            values = align([x], *given, strides=[16], side=14, samples=2, shifted=True)
        (gradient,) = torch.autograd.grad((values * weights.to(device)).sum(), x)
        return gradient.cpu()

    assert torch.equal(differentiate("cuda"), differentiate("cuda"))
    torch.testing.assert_close(differentiate("cuda"), differentiate("cpu"), rtol=1e-3, atol=1e-3)
