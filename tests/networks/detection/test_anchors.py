"""Anchors against torchvision's, and against the nine that Faster R-CNN's authors print."""

from __future__ import annotations

import torch
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.models.detection.image_list import ImageList

from reslab.networks.detection.anchors import make_shapes, place_anchors

# What py-faster-rcnn's generate_anchors.py prints; its pixels are counted, from 0, to the last one inside.
PRINTED = [
    [-84, -40, 99, 55],
    [-176, -88, 191, 103],
    [-360, -184, 375, 199],
    [-56, -56, 71, 71],
    [-120, -120, 135, 135],
    [-248, -248, 263, 263],
    [-36, -80, 51, 95],
    [-80, -168, 95, 183],
    [-168, -344, 183, 359],
]


def test_original_anchors_are_the_authors() -> None:
    """The first step's, and every other by a multiple of the stride."""
    shapes = make_shapes("original", sides=(128, 256, 512), ratios=(0.5, 1, 2), stride=16)
    anchors, starts = place_anchors(shapes, "original", grid=(3, 4), stride=16, padded=(40, 60))
    expected = torch.tensor(PRINTED).float() + torch.tensor([0, 0, 1, 1])
    assert torch.equal(anchors[:9], expected)
    assert torch.equal(anchors.view(3, 4, 9, 4)[2, 3], expected + torch.tensor([48, 32, 48, 32]))
    assert starts.view(3, 4, 9, 2)[2, 3].tolist() == [[48, 32]] * 9


def test_torchvisions_anchors_are_torchvisions() -> None:
    """On a pyramid whose last map does not divide the image, too."""
    grids = [(24, 40), (12, 20), (6, 10), (3, 5), (2, 3)]
    sides, ratios = (32, 64, 128, 256, 512), (0.5, 1.0, 2.0)
    generator = AnchorGenerator(tuple((side,) for side in sides), (ratios,) * 5)
    images = ImageList(torch.zeros(1, 3, 96, 160), [(96, 160)])
    (expected,) = generator(images, [torch.zeros(1, 1, *grid) for grid in grids])
    ours = [
        place_anchors(
            make_shapes("torchvision", sides=(side,), ratios=ratios, stride=stride),
            "torchvision",
            grid=grid,
            stride=stride,
            padded=(96, 160),
        )[0]
        for side, grid, stride in zip(sides, grids, (4, 8, 16, 32, 64), strict=True)
    ]
    assert torch.equal(torch.cat(ours), expected)
