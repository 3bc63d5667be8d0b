"""Global context: every region is told of the whole image it is in."""

from __future__ import annotations

import torch
from tests.networks.detection.scenes import draw_scenes, make_detector

from reslab.networks.detection.context import join_context


def test_regions_are_joined_with_their_own_image() -> None:
    """Image by image."""
    own, whole = torch.randn(6, 3), torch.randn(2, 4)
    joined = join_context(own, whole)
    for row in range(6):
        assert torch.equal(joined[row], torch.cat([own[row], whole[row // 3]]))


def test_a_detector_with_context_looks_at_the_frame_too() -> None:
    """Its last layers are twice as wide, and trained end to end."""
    detector = make_detector(context=True, pooling="align", pooled_side=6)
    images, targets = draw_scenes(2)
    frames, boxes = targets[:, 0, :4], targets[:, 1:3, :4]
    maps = detector.maps(images)
    features = detector.describe(maps, boxes, frames)
    assert features.shape == (4, 2 * detector.body.region_width)
    whole = detector.body.of_regions(detector.pool(maps, frames[:, None]))
    torch.testing.assert_close(features[:, features.shape[1] // 2 :], whole.repeat_interleave(2, 0))
    losses = detector.losses(images, targets, torch.Generator().manual_seed(0))
    losses["roi_class"].backward()
    gradient = detector.outputs.scores.weight.grad
    assert gradient is not None and bool((gradient[:, gradient.shape[1] // 2 :] != 0).any())
