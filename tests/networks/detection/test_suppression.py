"""Suppression against torchvision's, on the host; ties go by place."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torchvision.ops import batched_nms, nms

from reslab.networks.detection.suppression import rank, suppress


def draw(groups: int, count: int, seed: int, *, whole: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """Boxes, scores and which of them count; whole ones have overlaps at the very threshold, and scores tie."""
    generator = torch.Generator().manual_seed(seed)
    corners = torch.rand(groups, count, 2, 2, generator=generator) * 30
    corners = corners.round() if whole else corners
    boxes = torch.cat([corners.amin(2), corners.amax(2)], dim=-1)
    scores = torch.randint(0, count // 2 + 2, (groups, count), generator=generator).float()
    return boxes, scores, torch.rand(groups, count, generator=generator) < 0.8


def expect(boxes: Tensor, scores: Tensor, valid: Tensor, overlap: float, count: int) -> list[list[int]]:
    """What torchvision keeps of each group, whose order of ties is made certain by sorting first."""
    expected = []
    for group in range(len(boxes)):
        there = valid[group].nonzero()[:, 0]
        there = there[scores[group][there].argsort(descending=True, stable=True)]
        kept = nms(boxes[group][there], -torch.arange(len(there)).float(), overlap)
        expected.append(there[kept][:count].tolist())
    return expected


def read(chosen: Tensor, kept: Tensor) -> list[list[int]]:
    """The rows that count."""
    return [row[counts].tolist() for row, counts in zip(chosen.cpu(), kept.cpu(), strict=True)]


@given(st.integers(0, 10_000), st.integers(0, 40), st.sampled_from([0.0, 0.3, 0.5, 0.7, 1.0]), st.integers(1, 50))
def test_it_is_torchvisions(seed: int, count: int, overlap: float, most: int) -> None:
    """In groups, without the boxes that do not count, of any number, at any threshold."""
    boxes, scores, valid = draw(3, count, seed)
    chosen, kept = suppress(boxes, scores, valid, overlap=overlap, count=most)
    assert chosen.shape == kept.shape == (3, min(count, most))
    assert read(chosen, kept) == expect(boxes, scores, valid, overlap, most)


def test_groups_are_classes_of_torchvision() -> None:
    """Boxes of different groups never meet."""
    boxes, scores, valid = draw(5, 40, 7, whole=False)
    scores = torch.rand(scores.shape)
    chosen, kept = suppress(boxes, scores, torch.ones_like(valid), overlap=0.4, count=40)
    groups = torch.arange(5).repeat_interleave(40)
    expected = batched_nms(boxes.flatten(0, 1), scores.flatten(), groups, 0.4).sort().values
    places = [40 * group + row for group, rows in enumerate(read(chosen, kept)) for row in rows]
    assert sorted(places) == expected.tolist()


def test_as_many_as_the_paper_ranks_fit() -> None:
    """12,000 candidates, of which 2,000 stay."""
    boxes, scores, valid = draw(1, 12000, 1, whole=False)
    boxes *= torch.tensor([30.0, 20.0, 30.0, 20.0])
    chosen, kept = suppress(boxes, scores, valid, overlap=0.7, count=2000)
    assert read(chosen, kept) == expect(boxes, scores, valid, 0.7, 2000)


def test_ranks_tell_what_counts() -> None:
    """Ties in their order; what does not count comes last, and a score of minus infinity is one."""
    scores = torch.tensor([[1.0, 3.0, 3.0, -torch.inf, 9.0]])
    order, valid = rank(scores, torch.tensor([[True, True, True, True, False]]), 4)
    assert order.tolist() == [[1, 2, 0, 3]] and valid.all()
