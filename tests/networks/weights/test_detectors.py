"""Weights of detectors: from classifiers, to files and back, and torchvision's, with the same detections and losses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torchvision.models.detection import fasterrcnn_resnet50_fpn

from reslab.errors import UserError
from reslab.networks import Weights, build, load_model, save_model
from reslab.networks.create import adopt_weights
from reslab.networks.detection.detector import Detector
from reslab.networks.weights.detectors import (
    load_torchvision,
    to_torchvision,
    torchvision_detector,
)
from reslab.spec import Preprocess, find
from reslab.spec.detection import Detection

SIZE = (96, 128)
MANY = 100_000  # so that all anchors and regions are sampled, and nothing is left to chance
SMALL = {"stages.0.width": 4, "stages.1.width": 4, "stages.2.width": 8, "stages.3.width": 8, "stem.width": 4}


def make_torchvisions() -> nn.Module:
    """Its network with random weights that see something, for images of one size that it leaves as they are."""
    model = fasterrcnn_resnet50_fpn(
        weights=None,
        weights_backbone=None,
        num_classes=6,
        min_size=SIZE[0],
        max_size=SIZE[1],
        image_mean=[0, 0, 0],
        image_std=[1, 1, 1],
        rpn_batch_size_per_image=MANY,
        rpn_positive_fraction=1.0,
        box_batch_size_per_image=MANY,
        box_positive_fraction=1.0,
    )
    for name, tensor in model.state_dict().items():
        if name.startswith(("rpn.head", "roi_heads.box_predictor")) and name.endswith("weight"):
            tensor.normal_(std=0.03)
        if name.endswith("bn3.weight"):  # constant norms of random weights hold nothing back: maps grow, and rounding
            tensor.fill_(0.3)
    return model


@pytest.fixture(scope="module")
def pair() -> tuple[nn.Module, Detector]:
    """Theirs, and ours with the same weights."""
    torch.manual_seed(0)
    theirs = make_torchvisions()
    spec, detection = torchvision_detector(classes=5, epsilon=1e-5)
    detector = Detector(spec, detection)
    load_torchvision(detector, theirs.state_dict(), origin="theirs")
    return theirs, detector


def frame(*rows: Sequence[float]) -> Tensor:
    """Targets of one image."""
    return torch.tensor([[[0, 0, SIZE[1], SIZE[0], -2, SIZE[1], SIZE[0]], *rows]], dtype=torch.float32)


def test_torchvisions_detections_are_ours(pair: tuple[nn.Module, Detector]) -> None:
    """The same boxes, scores and classes from the same weights."""
    theirs, detector = pair
    images = torch.rand(1, 3, *SIZE)
    with torch.no_grad():
        (expected,) = theirs.eval()(list(images))
        (found,) = detector.eval()(images, frame())
    rows = torch.cat([expected["boxes"], expected["scores"][:, None], expected["labels"][:, None] - 1], dim=1)
    assert len(rows) > 20
    there = found[found[:, 5] >= 0]
    torch.testing.assert_close(there, rows, rtol=1e-3, atol=1e-3)


def test_torchvisions_losses_are_ours(pair: tuple[nn.Module, Detector]) -> None:
    """All four, where every anchor and every region is sampled."""
    theirs, detector = pair
    everything = replace(detector.task, rpn_samples=MANY, rpn_positive_share=1, regions=MANY, region_positive_share=1)
    again = Detector(detector.spec, everything)
    again.load_state_dict(detector.state_dict())
    images = torch.rand(1, 3, *SIZE)
    rows = [[10, 20, 70, 80, 2, 0, 3600], [50, 5, 120, 60, 4, 0, 3850], [0, 0, 0, 0, -1, 0, 0]]
    boxes = {"boxes": torch.tensor([row[:4] for row in rows[:2]]).float(), "labels": torch.tensor([3, 5])}
    theirs.train()
    for module in theirs.modules():
        if isinstance(module, nn.BatchNorm2d):  # ours are frozen
            module.eval()
    expected = theirs(list(images), [boxes])
    losses = again.losses(images, frame(*rows), torch.Generator())
    names = {
        "rpn_class": "loss_objectness",
        "rpn_box": "loss_rpn_box_reg",
        "roi_class": "loss_classifier",
        "roi_box": "loss_box_reg",
    }
    for ours, theirs_ in names.items():
        torch.testing.assert_close(losses[ours], expected[theirs_], rtol=1e-3, atol=1e-4)


def test_torchvisions_names_are_its_own(pair: tuple[nn.Module, Detector]) -> None:
    """All of them, there and back; older files have others for some."""
    theirs, detector = pair
    given = to_torchvision(detector)
    assert set(given) == {name for name in theirs.state_dict() if not name.endswith("num_batches_tracked")}
    assert all(torch.equal(theirs.state_dict()[name], tensor) for name, tensor in given.items())
    older = {re.sub(r"(_blocks\.\d|rpn\.head\.conv)(\.0)+\.", r"\1.", name): tensor for name, tensor in given.items()}
    assert "rpn.head.conv.weight" in older and "backbone.fpn.inner_blocks.3.bias" in older
    fresh = Detector(detector.spec, detector.task)
    load_torchvision(fresh, older, origin="an older file")
    assert torch.equal(fresh.state_dict()["proposer.head.conv.weight"], given["rpn.head.conv.0.0.weight"])
    with pytest.raises(UserError, match=r"use task\.head=fpn"):
        to_torchvision(Detector(find("resnet-18", SMALL), Detection()))


def test_a_classifier_is_where_a_detector_starts() -> None:
    """With all it has but its classifier; another network's weights are refused."""
    classifier = build(find("resnet-18", SMALL))
    for tensor in classifier.state_dict().values():
        if tensor.is_floating_point():
            tensor.uniform_(1, 2)
    weights = Weights(spec=classifier.spec, tensors=classifier.state_dict())
    detector = Detector(find("resnet-18", {**SMALL, "classes": 3}), Detection())
    adopt_weights(detector, weights, origin="a file")
    for name, tensor in detector.body.state_dict().items():
        assert torch.equal(tensor, weights.tensors[name])
    other = Detector(find("resnet-34", {"classes": 3}), Detection())
    with pytest.raises(UserError, match="a file does not fit the network"):
        adopt_weights(other, weights, origin="a file")


def test_detectors_with_other_trunks_fit() -> None:
    """One that proposes by a network of its own does it as the other does, and keeps it; one that has none drops it."""
    spec = find("resnet-18", {**SMALL, "classes": 3})
    joint, apart = Detector(spec, Detection()), Detection(trains="regions", trunks="separate")
    weights = Weights(spec=spec, tensors=joint.state_dict(), task=joint.task)
    detector = Detector(spec, apart)
    adopt_weights(detector, weights, origin="a file")
    assert detector.separate is not None
    for name, tensor in detector.state_dict().items():
        assert torch.equal(tensor, weights.tensors[name.removeprefix("separate.")])
    with torch.no_grad():
        detector.separate.proposer.head.conv.weight.fill_(1)
    weights = Weights(spec=spec, tensors=detector.state_dict(), task=apart)
    same, other = Detector(spec, apart), Detector(spec, Detection())
    for network in (same, other):
        adopt_weights(network, weights, origin="a file")
        assert all(torch.equal(tensor, weights.tensors[name]) for name, tensor in network.state_dict().items())
    with pytest.raises(UserError, match=r"use task\.trunks=shared"):
        to_torchvision(Detector(find("resnet-18", SMALL), Detection(head="fpn", trains="regions", trunks="separate")))
    classifier = Weights(spec=spec, tensors=build(spec).state_dict())
    with pytest.raises(UserError, match="separate needs a detector to propose regions, and a file is a classifier"):
        adopt_weights(detector, classifier, origin="a file")


@pytest.mark.parametrize("head", ["c4", "fpn"])
def test_a_file_is_all_that_a_detector_needs(head: str, tmp_path: Path) -> None:
    """It comes back with its fields, names and preprocessing, and finds the same."""
    detector = Detector(find("resnet-18", {**SMALL, "classes": 2}), Detection(head=head, pooled_side=4, detections=7))  # pyright: ignore[reportArgumentType]
    detector.class_names, detector.preprocess = ("disc", "square"), Preprocess()
    path = save_model(detector, tmp_path, metrics={"loss": 1.5}, provenance={"seed": 1})
    assert path.name.startswith("resnet-18-")
    again = load_model(path)
    assert isinstance(again, Detector)
    assert (again.task, again.spec, again.class_names) == (detector.task, detector.spec, ("disc", "square"))
    images = torch.rand(1, 3, 64, 64)
    targets = torch.tensor([[[0.0, 0.0, 64.0, 64.0, -2.0, 64.0, 64.0]]])
    with torch.no_grad():
        assert torch.equal(detector.eval()(images, targets), again.eval()(images, targets))
