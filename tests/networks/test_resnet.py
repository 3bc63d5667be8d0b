"""The network as a whole: logits, activations, responses, initial weights."""

from __future__ import annotations

import math

import pytest
import torch

from reslab.networks import build, create_model
from reslab.networks.resnet import ResidualNetwork
from reslab.spec import find, spec_from_dict, spec_to_dict


def make(name: str, **overrides: object) -> ResidualNetwork:
    network = build(find(name, overrides))
    assert isinstance(network, ResidualNetwork)
    return network


def test_activations_are_named_and_ordered() -> None:
    """Names follow the paper, from conv1 to the logits; shapes as in Table 1."""
    network = make("resnet-50").eval()
    with torch.no_grad():
        seen = network.activations(torch.randn(1, 3, 224, 224))
    names = [name for name in seen if "." not in name]
    assert names[:4] == ["conv1", "pool1", "conv2_1", "conv2_2"]
    assert names[-3:] == ["conv5_3", "pooled", "logits"]
    sizes = {
        name: tuple(seen[name].shape[1:]) for name in ("conv1", "pool1", "conv2_3", "conv3_4", "conv4_6", "conv5_3")
    }
    assert sizes == {
        "conv1": (64, 112, 112),
        "pool1": (64, 56, 56),
        "conv2_3": (256, 56, 56),
        "conv3_4": (512, 28, 28),
        "conv4_6": (1024, 14, 14),
        "conv5_3": (2048, 7, 7),
    }
    for stage, stride in network.stage_strides.items():
        last = [name for name in names if name.startswith(stage[:-1])][-1]
        assert seen[last].shape[1:] == (network.stage_widths[stage], 224 // stride, 224 // stride)


def test_activations_end_in_the_logits() -> None:
    """Looking changes nothing, in every order."""
    for order in ("post", "pre", "bn-after-addition", "relu-before-addition"):
        network = make("resnet-20", order=order).eval()
        x = torch.randn(2, 3, 32, 32)
        assert torch.equal(network.activations(x)["logits"], network(x))


def test_responses_number_as_in_the_paper() -> None:
    """Fig. 7 has 6n+1 responses: 19 for 20 layers, 55 for 56, 109 for 110."""
    for depth in (20, 56, 110):
        seen = make(f"plain-{depth}").eval().activations(torch.randn(1, 3, 32, 32))
        assert sum("response" in name for name in seen) == depth - 1


def test_a_response_precedes_nonlinearity_and_addition() -> None:
    """It has both signs, is normalized over the batch, and the in-place ReLU after it leaves it alone."""
    network = make("resnet-20")
    seen = network.activations(torch.randn(16, 3, 32, 32))
    for number in (1, 2):
        response = seen[f"conv2_1.response_{number}"]
        assert response.min() < 0 < response.max()
        assert response.mean((0, 2, 3)).abs().max() < 1e-5
        assert torch.allclose(response.std((0, 2, 3)), torch.ones(16), atol=1e-2)
    block = network.blocks["conv2_1"]
    assert torch.allclose(seen["conv2_1"], (seen["conv1"] + seen["conv2_1.response_2"]).relu(), atol=1e-6)
    assert block.name == "conv2_1"


def test_plain_and_residual_twins_share_weights() -> None:
    """A twin takes the other's state dict as it is, and computes something else with it."""
    residual, plain = make("resnet-20").eval(), make("plain-20").eval()
    plain.load_state_dict(residual.state_dict())
    x = torch.randn(2, 3, 32, 32)
    assert not torch.allclose(plain(x), residual(x))


def test_gradients_do_not_see_in_place_operations() -> None:
    """Double-precision gradients agree with finite differences in every order and shortcut."""
    for overrides in (
        {"shortcut": "A"},
        {"shortcut": "none"},
        {"shortcut": "C", "order": "pre"},
        {"shortcut": "gated", "order": "relu-before-addition"},
        {"shortcut": "B", "order": "bn-after-addition", "squeeze_excitation": 2},
        {"shortcut": "A", "order": "pre", "norm": "none"},
    ):
        network = make("cifar-resnet-8", **overrides).double()
        x = torch.randn(2, 3, 8, 8, dtype=torch.double, requires_grad=True)
        assert torch.autograd.gradcheck(network, x, atol=1e-5, nondet_tol=0.0)


@pytest.mark.parametrize(
    ("fields", "losses"),
    [
        ({"shortcut": "C"}, [2.3417104405918665, 2.0075775570667402, 1.7389305746988204]),
        ({"dropout": 0.5}, [2.2735590524315987, 2.0783871179240423, 1.9201481048194395]),
    ],
    ids=str,
)
def test_the_first_preactivation_computes_what_it_did(fields: dict[str, object], losses: list[float]) -> None:
    """A spec recorded before there were revisions trains by the losses that were measured then; today's does not."""
    for recorded in (True, False):
        data = spec_to_dict(find("cifar-resnet-14", {"order": "pre", "input_size": 8, **fields}))
        if recorded:
            del data["pre_revision"]
        torch.manual_seed(0)
        network = build(spec_from_dict(data)).double()
        images = torch.linspace(-1, 1, 4 * 3 * 8 * 8, dtype=torch.double).sin().mul(9).cos().view(4, 3, 8, 8)
        optimizer, trace = torch.optim.SGD(network.parameters(), lr=0.1), []
        for _ in losses:
            loss = torch.nn.functional.cross_entropy(network(images), torch.arange(4))
            trace.append(loss.item())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        assert (trace == pytest.approx(losses, rel=1e-9)) == recorded


def test_the_constructor_is_reproducible() -> None:
    """The same seed gives the same weights."""
    networks = []
    for _ in range(2):
        torch.manual_seed(7)
        networks.append(create_model("resnet-20"))
    for one, other in zip(networks[0].state_dict().values(), networks[1].state_dict().values(), strict=True):
        assert torch.equal(one, other)


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
