"""Terms and gates of known networks."""

from __future__ import annotations

import math

import pytest
import torch
from tests.analysis.subjects import make_subject, subject_of

from reslab.analysis.anatomy import take_apart
from reslab.analysis.shortcuts.measure import INSTRUMENT
from reslab.analysis.shortcuts.settings import Shortcuts
from reslab.analysis.workbench import Workbench
from reslab.networks import build
from reslab.networks.comparators import HighwayLayer
from reslab.spec import HighwaySpec
from reslab.tasks.subject import Subject

FEW = Shortcuts(images=30, batch=12)


def make_highway() -> Subject:
    """Two small stages."""
    stages = [{"blocks": 2, "width": 4}, {"blocks": 1, "width": 6}]
    return subject_of(build(HighwaySpec(channels=1, classes=10, stages=stages, neck=5, input_size=8)))  # pyright: ignore[reportArgumentType]


def test_gates_set_by_hand_are_read_back() -> None:
    """Open by a quarter everywhere, wide open in half the channels, or shut."""
    subject = make_highway()
    layers = [part.module for part in take_apart(subject.network).parts]
    for layer, biases in zip(layers, ([math.log(1 / 3)], [-50.0, 50.0], [-200.0]), strict=True):
        assert isinstance(layer, HighwayLayer)
        torch.nn.init.zeros_(layer.gate.weight)
        assert layer.gate.bias is not None
        layer.gate.bias.data = torch.tensor(biases).repeat(len(layer.gate.bias) // len(biases))
    quarter, half, shut = INSTRUMENT.measure(subject, FEW, Workbench())["additions"]
    assert quarter["gate_mean"] == pytest.approx(0.25) and quarter["gate_open"] == 0
    assert quarter["gate_variance"] == pytest.approx(0, abs=1e-12)
    assert (half["gate_mean"], half["gate_open"]) == pytest.approx((0.5, 0.5))
    assert half["gate_variance"] == pytest.approx(0.25)
    assert shut["gate_mean"] == shut["branch_rms"] == shut["branch_share"] == shut["gradient_branch"] == 0
    assert shut["name"] == "highway2_1" and shut["shortcut"] == "identity"


def test_terms_are_those_of_the_network() -> None:
    """Standard deviations, shares and cosines of a block's two terms, image by image."""
    subject = make_subject("cifar-resnet-8", shortcut="B", order="pre")
    found = INSTRUMENT.measure(subject, FEW, Workbench())
    assert found["images"] == 30
    assert [row["shortcut"] for row in found["additions"]] == ["identity", "projection", "projection"]
    images, _ = next(iter(subject.batches(30, images=30)))
    with torch.no_grad():
        seen = subject.network.activations(images)
    shortcut = seen["conv1"].double().flatten(1)
    branch = seen["conv2_1"].double().flatten(1) - shortcut
    row = found["additions"][0]
    assert row["shortcut_std"] == pytest.approx(shortcut.std(1, correction=0).mean().item(), rel=1e-5)
    assert row["branch_rms"] == pytest.approx(branch.square().mean(1).sqrt().mean().item(), rel=1e-4)
    share = branch.square().sum(1) / (branch.square() + shortcut.square()).sum(1)
    assert row["branch_share"] == pytest.approx(share.mean().item(), rel=1e-4)
    cosine = torch.nn.CosineSimilarity()(branch, shortcut).mean().item()
    assert row["cosine"] == pytest.approx(cosine, abs=1e-5)
    assert "gate_mean" not in row and all(math.isfinite(row[name]) for name in row if name.startswith("gradient"))


def test_nothing_is_left_behind() -> None:
    """No gradient in the network, no changed statistics; the same again gives the same."""
    subject = make_subject("cifar-resnet-8", shortcut="gated")
    before = {name: value.clone() for name, value in subject.network.state_dict().items()}
    settings = Shortcuts(images=30, batch=12, norms="batch")
    assert INSTRUMENT.measure(subject, settings, Workbench()) == INSTRUMENT.measure(subject, settings, Workbench())
    assert all(parameter.grad is None for parameter in subject.network.parameters())
    assert all(torch.equal(before[name], value) for name, value in subject.network.state_dict().items())
