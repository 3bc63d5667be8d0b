"""What is trained on, against a loop over boxes and objects."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from reslab.networks.detection.boxes import overlaps
from reslab.networks.detection.sampling import (
    Regions,
    draw,
    match,
    pick,
    read_objects,
    sample_anchors,
    sample_regions,
)
from reslab.spec.boxes import ABSENT, CROWD, DIFFICULT, FRAME, PLAIN
from reslab.spec.detection import Detection

PLAN = Detection(rpn_samples=12, regions=10).settle()


def draw_boxes(random: np.random.Generator, *shape: int) -> Tensor:
    """Boxes of whole pixels in an image of 40."""
    corners = random.integers(0, 30, (*shape, 2)), random.integers(4, 11, (*shape, 2))
    return torch.from_numpy(np.concatenate([corners[0], corners[0] + corners[1]], axis=-1).astype(np.float32))


def draw_targets(random: np.random.Generator) -> Tensor:
    """Two images with four rows each of which some are absent, difficult or crowds."""
    targets = torch.zeros(2, 5, 7)
    targets[..., :4] = draw_boxes(random, 2, 5)
    targets[..., 4] = torch.from_numpy(random.integers(ABSENT, 3, (2, 5)))
    targets[..., 5] = torch.from_numpy(random.choice([PLAIN, PLAIN, PLAIN, DIFFICULT, CROWD], (2, 5)))
    targets[:, 0] = torch.tensor([0, 0, 40, 40, FRAME, 40, 40])
    return targets


def list_plain(targets: Tensor, mark: int = PLAIN) -> list[Tensor]:
    """The objects of an image with a mark."""
    return [row for row in targets if row[4] >= 0 and row[5] == mark]


def share(box: Tensor, objects: list[Tensor]) -> list[float]:
    """Its overlaps."""
    return [float(overlaps(box[None], each[None, :4])) for each in objects]


def is_crowded(box: Tensor, targets: Tensor) -> bool:
    """Whether most of it lies in a crowd."""
    area = float((box[2:] - box[:2]).prod())
    shared = [
        float((torch.minimum(box[2:], crowd[2:4]) - torch.maximum(box[:2], crowd[:2])).clamp(min=0).prod())
        for crowd in list_plain(targets, CROWD)
    ]
    return any(each >= 0.7 * area for each in shared)


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_anchors_are_objects_or_background_or_neither(seed: int) -> None:
    """By their overlaps; the best of each object is one, however little that is."""
    random = np.random.default_rng(seed)
    anchors, targets = draw_boxes(random, 30), draw_targets(random)
    usable = torch.from_numpy(random.random((2, 30)) < 0.8)
    everything = Detection(rpn_samples=1000, rpn_positive_share=1).settle()
    positive, negative, boxes = sample_anchors(
        anchors, usable, read_objects(targets), plan=everything, generator=torch.Generator()
    )
    for image in range(2):
        objects = list_plain(targets[image])
        shares = [share(anchor, objects) if usable[image, row] else [] for row, anchor in enumerate(anchors)]
        best = [max((each[number] for each in shares if each), default=0.0) for number in range(len(objects))]
        for row, each in enumerate(shares):
            most = max(each, default=0.0)
            expected = most >= 0.7 or any(s == b and b > 0 for s, b in zip(each, best, strict=False))
            assert bool(positive[image, row]) == (bool(usable[image, row]) and expected)
            background = bool(usable[image, row]) and not expected and most < 0.3
            assert bool(negative[image, row]) == (background and not is_crowded(anchors[row], targets[image]))
            if expected:
                assert torch.equal(boxes[image, row], objects[each.index(most)][:4])


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_regions_have_the_label_of_their_object(seed: int) -> None:
    """A quarter of them at most are objects; what does not count is no region."""
    random = np.random.default_rng(seed)
    targets, boxes = draw_targets(random), draw_boxes(random, 2, 20)
    proposed = Regions(boxes, torch.zeros(2, 20), torch.from_numpy(random.random((2, 20)) < 0.7))
    sample = sample_regions(proposed, read_objects(targets), plan=PLAN, generator=torch.Generator().manual_seed(seed))
    assert sample.boxes.shape == (2, 10, 4)
    for image in range(2):
        objects = list_plain(targets[image])
        candidates = [*[each[:4] for each in objects], *proposed.boxes[image][proposed.valid[image]]]
        shares = [share(box, objects) for box in candidates]
        foreground = sum(max(each, default=0) >= 0.5 for each in shares)
        background = sum(
            max(each, default=0) < 0.5 and not is_crowded(box, targets[image])
            for each, box in zip(shares, candidates, strict=True)
        )
        count = int((sample.labels[image] > 0).sum())
        assert count == min(foreground, int(0.25 * 10))
        assert int(sample.valid[image].sum()) == count + min(background, 10 - count)
        for row in range(int(sample.valid[image].sum())):
            box, label = sample.boxes[image, row], int(sample.labels[image, row])
            assert any(torch.equal(box, each) for each in candidates)
            own = share(box, objects)
            assert (label > 0) == (max(own, default=0) >= 0.5)
            if label:
                assert label == int(objects[own.index(max(own))][4]) + 1
                assert torch.equal(sample.objects[image, row], objects[own.index(max(own))][:4])


def test_every_candidate_is_as_likely_as_another() -> None:
    """Over many draws; one seed draws the same twice."""
    positive = torch.zeros(4000, 12, dtype=torch.bool)
    positive[:, :6] = True
    chosen, others = draw(positive, ~positive, count=6, share=0.5, generator=torch.Generator().manual_seed(1))
    assert chosen.sum(1).unique().tolist() == [3] and others.sum(1).unique().tolist() == [3]
    assert torch.allclose(chosen[:, :6].float().mean(0), torch.tensor(0.5), atol=0.04)
    assert not chosen[:, 6:].any() and not others[:, :6].any()
    again, _ = draw(positive, ~positive, count=6, share=0.5, generator=torch.Generator().manual_seed(1))
    assert torch.equal(chosen, again)


def test_background_fills_up() -> None:
    """Where there are few objects, and where there are none."""
    positive = torch.tensor([[True, False, False, False], [False, False, False, False]])
    chosen, others = draw(positive, ~positive, count=3, share=0.5, generator=None)
    assert chosen.sum(1).tolist() == [1, 0] and others.sum(1).tolist() == [2, 3]


def test_rows_are_picked() -> None:
    """Of numbers and of boxes."""
    values, which = torch.arange(24.0).view(2, 3, 4), torch.tensor([[2, 0], [1, 1]])
    assert torch.equal(pick(values, which), torch.stack([values[0, [2, 0]], values[1, [1, 1]]]))
    assert torch.equal(pick(values[..., 0], which), torch.tensor([[8.0, 0.0], [16.0, 16.0]]))


@pytest.mark.parametrize("rows", [1, 3])
def test_a_frame_is_no_object(rows: int) -> None:
    """Nor are absent rows."""
    targets = torch.zeros(1, rows, 7)
    targets[..., 4] = ABSENT
    targets[:, 0] = torch.tensor([0, 0, 40, 40, FRAME, 40, 40])
    found = match(torch.tensor([[[0.0, 0.0, 40.0, 40.0]]]), torch.tensor([[True]]), read_objects(targets))
    assert found.share.tolist() == [[-1]] and not found.crowded.any() and not found.best.any()
