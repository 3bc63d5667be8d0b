"""Initial weights have the variance their rule asks for."""

from __future__ import annotations

import math

import pytest
import torch

from reslab.networks import create_model


@pytest.mark.parametrize(
    ("init", "deviation"),
    [
        ("he-fan-in", math.sqrt(2 / (9 * 256))),
        ("he-fan-out", math.sqrt(2 / (9 * 512))),
        ("xavier", math.sqrt(2 / (9 * 256 + 9 * 512))),
    ],
)
def test_deviation_of_a_widening_layer(init: str, deviation: float) -> None:
    """conv5_1's first layer goes from 256 to 512 channels, so the fans differ."""
    weight = create_model("resnet-18", init=init).get_parameter("blocks.conv5_1.layers.0.conv.weight")
    assert weight.std().item() == pytest.approx(deviation, rel=0.01)


def test_orthogonal_kernels_are_orthogonal() -> None:
    """Rows of the unfolded kernel are orthogonal with the gain of ReLU."""
    weight = create_model("resnet-20", init="orthogonal").get_parameter("blocks.conv2_1.layers.0.conv.weight")
    rows = weight.flatten(1)
    assert torch.allclose(rows @ rows.T, 2 * torch.eye(16), atol=1e-4)


def test_normalizations_start_as_identity_and_classifier_small() -> None:
    """Gamma one, beta zero, biases zero, classifier N(0, 0.01)."""
    network = create_model("resnet-56", num_classes=1000)
    for name, parameter in network.named_parameters():
        if "norm.weight" in name:
            assert parameter.eq(1).all()
        if name.endswith("bias"):
            assert parameter.eq(0).all()
    assert network.get_parameter("classifier.weight").std().item() == pytest.approx(0.01, rel=0.05)


def test_projections_leave_preactivated_sums_in_bounds() -> None:
    """Of 110 layers with option C the last is no more than a few times option A's; once it was over a hundred times."""
    deviations = {}
    for shortcut, revision in (("A", None), ("C", None), ("C", 1)):
        torch.manual_seed(0)
        network = create_model("resnet-110", order="pre", shortcut=shortcut, pre_revision=revision)
        with torch.no_grad():
            deviations[shortcut, revision] = network.activations(torch.randn(8, 3, 16, 16))["conv4_18"].std()
    usual = deviations["A", None]
    assert usual / 4 < deviations["C", None] < 4 * usual
    assert deviations["C", 1] > 50 * usual


def test_zero_gamma_makes_every_block_an_identity_at_first() -> None:
    """With zero-gamma the features after a stage without changes equal the stem's."""
    network = create_model("resnet-20", zero_gamma=True)
    seen = network.activations(torch.randn(4, 3, 32, 32))
    assert torch.equal(seen["conv2_3"], seen["conv1"])


def test_gates_start_nearly_shut() -> None:
    """Their bias is -2, so T is about 0.12."""
    network = create_model("gated-resnet-20")
    assert network.get_parameter("blocks.conv2_1.gate.conv.bias").eq(-2).all()
    assert create_model("highway-19").get_parameter("steps.highway1_1.gate.bias").eq(-2).all()
