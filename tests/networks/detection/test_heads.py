"""The new layers: shapes, the order of what they put out, and torchvision's pyramid."""

from __future__ import annotations

from collections import OrderedDict

import torch
from torchvision.ops import FeaturePyramidNetwork
from torchvision.ops.feature_pyramid_network import LastLevelMaxPool

from reslab.networks.detection.heads import ProposalHead, Pyramid, RegionOutputs, TwoLayers


def test_proposals_come_row_by_row() -> None:
    """Each step's anchors together, as they are placed."""
    head = ProposalHead(8, 16, anchors=3)
    x = torch.randn(2, 8, 4, 5)
    logits, codes = head(x)
    assert logits.shape == (2, 60) and codes.shape == (2, 60, 4)
    hidden = head.conv(x).relu()
    objectness, boxes = head.objectness(hidden), head.boxes(hidden)
    place = (2 * 5 + 3) * 3 + 1  # row 2, column 3, anchor 1
    torch.testing.assert_close(logits[1, place], objectness[1, 1, 2, 3])
    torch.testing.assert_close(codes[1, place], boxes[1, 4:8, 2, 3])


def test_regions_have_a_score_and_a_box_for_each_class_and_background() -> None:
    """In float32, whatever they are computed in."""
    logits, codes = RegionOutputs(6, classes=4).to(torch.bfloat16)(torch.randn(7, 6).to(torch.bfloat16))
    assert logits.shape == (7, 5) and codes.shape == (7, 5, 4)
    assert logits.dtype == codes.dtype == torch.float32
    assert TwoLayers(6 * 4, 9)(torch.randn(7, 6, 2, 2)).shape == (7, 9)


def test_a_pyramid_is_torchvisions() -> None:
    """On maps whose sides are odd, too."""
    ours = Pyramid((4, 8, 16), 6)
    theirs = FeaturePyramidNetwork([4, 8, 16], 6, LastLevelMaxPool())
    names = {"lateral": "inner_blocks", "output": "layer_blocks"}
    state = {}
    for name, tensor in ours.state_dict().items():
        kind, level, leaf = name.split(".")
        state[f"{names[kind]}.{level}.0.{leaf}"] = tensor
    theirs.load_state_dict(state)
    maps = [torch.randn(1, 4, 19, 13), torch.randn(1, 8, 10, 7), torch.randn(1, 16, 5, 4)]
    expected = theirs(OrderedDict(zip("abc", maps, strict=True)))
    for map_, other in zip(ours(maps), expected.values(), strict=True):
        torch.testing.assert_close(map_, other)
