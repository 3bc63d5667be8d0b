"""A network of its own that proposes regions: its boxes are those of the detector it was, and nothing moves it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.networks.detection.scenes import draw_scenes, make_detector

from reslab.networks.detection import detector as detectors
from reslab.networks.detection.detector import Detector
from reslab.networks.detection.sampling import Regions, Sample, sample_regions
from reslab.networks.layers import FrozenBatchNorm
from reslab.networks.weights.detectors import fit_proposals

STEP_2: dict[str, Any] = {"trains": "regions", "trunks": "separate"}
FPN: dict[str, Any] = {"head": "fpn", "pooling": "align", "anchor_sides": (8, 16, 24, 32, 48), "pooled_side": 2}


def make_pair(**fields: Any) -> tuple[Detector, Detector]:
    """A detector, and one on another trunk that trains regions on what the first proposes."""
    proposing = make_detector(**fields)
    torch.manual_seed(7)
    with torch.no_grad():
        for weight in proposing.proposer.parameters():
            weight.normal_(std=0.05)  # so that no two scores are about the same
    learning = make_detector(**fields, **STEP_2)
    assert learning.separate is not None
    tensors = fit_proposals(learning, proposing.state_dict())
    learning.separate.load_state_dict({name: tensors[f"separate.{name}"] for name in learning.separate.state_dict()})
    return proposing.eval(), learning


@pytest.mark.parametrize("fields", [{}, {"norm": "trained"}, FPN])
def test_it_trains_on_the_other_detectors_proposals(fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as a training takes; every region that is drawn is one of them, or an object."""
    proposing, learning = make_pair(**fields)
    images, targets = draw_scenes(2)
    frames = targets[:, 0, :4]
    with torch.no_grad():
        candidates = proposing.proposer(proposing.maps(images), (64, 64))
        wanted = proposing.proposer.propose(candidates, frames, training=True)
    seen: list[tuple[Regions, Sample]] = []

    def note(proposed: Regions, *args: Any, **given: Any) -> Sample:
        seen.append((proposed, sample_regions(proposed, *args, **given)))
        return seen[-1][1]

    monkeypatch.setattr(detectors, "sample_regions", note)
    losses = learning.train().losses(images, targets, torch.Generator().manual_seed(0))
    assert set(losses) == {"roi_class", "roi_box"}
    ((proposed, sample),) = seen
    assert wanted.valid.sum() > 20
    assert torch.equal(proposed.boxes, wanted.boxes) and torch.equal(proposed.valid, wanted.valid)
    for image in range(2):
        offered = {tuple(box) for box in wanted.boxes[image][wanted.valid[image]].tolist()}
        offered |= {tuple(box) for box in targets[image, 1:, :4].tolist()}
        assert {tuple(box) for box in sample.boxes[image][sample.valid[image]].tolist()} <= offered
    tested = learning.eval().propose(images, frames)[1]
    assert torch.equal(tested.boxes, proposing.propose(images, frames)[1].boxes)
    assert not torch.equal(learning.maps(images)[0], proposing.maps(images)[0])


@pytest.mark.parametrize("norm", ["frozen", "trained"])
def test_nothing_moves_it(norm: str) -> None:
    """Neither gradients nor statistics, in training mode too; the detector beside it learns."""
    _, learning = make_pair(norm=norm)
    learning.train()
    before = {name: tensor.clone() for name, tensor in learning.state_dict().items()}
    torch.stack(list(learning.losses(*draw_scenes(2), torch.Generator()).values())).sum().backward()
    for name, weight in learning.named_parameters():
        untouched = name.startswith(("separate.", "proposer."))
        assert (weight.grad is None) == untouched == (not weight.requires_grad), name
    moved = {name for name, tensor in learning.state_dict().items() if not torch.equal(tensor, before[name])}
    assert not any(name.startswith("separate.") for name in moved)
    assert bool(moved) == (norm == "trained")
    assert learning.separate is not None and not any(module.training for module in learning.separate.modules())


def test_it_has_no_layers_for_regions() -> None:
    """The last stage of its network is not kept; of a pyramid's, all stages are."""
    fields: dict[str, Any]
    for fields, last in (({}, False), (FPN, True)):
        separate = make_detector(**fields, **STEP_2).separate
        assert separate is not None
        assert any(name.startswith("body.blocks.conv5_") for name in separate.state_dict()) == last
        assert not any(name.startswith(("outputs.", "hidden.")) for name in separate.state_dict())
        assert any(isinstance(module, FrozenBatchNorm) for module in separate.modules())
