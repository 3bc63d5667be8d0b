"""A network at many weights at once, beside the same network with these weights set one after the other."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from tests.analysis.landscape.nets import warmed
from torch import Tensor, nn

from reslab.analysis.landscape.passes import Passes, Precision, Settling, stack_one
from reslab.errors import UserError
from reslab.networks import Network, create_model

CASES: list[tuple[str, dict[str, Any]]] = [
    ("cifar-resnet-8", {}),
    ("cifar-resnet-8", {"order": "pre", "shortcut": "B"}),
    ("cifar-plain-8", {}),
    ("cifar-resnet-11", {"block": "bottleneck", "squeeze_excitation": 4}),
    ("cifar-resnet-8", {"norm": "group"}),
]


def scatter(network: Network, points: int) -> dict[str, Tensor]:
    """Weights somewhere around those of a network, of every parameter."""
    random = torch.Generator().manual_seed(1)
    return {
        name: torch.stack([p.detach() * (1 + 0.2 * torch.randn(p.shape, generator=random)) for _ in range(points)])
        for name, p in network.named_parameters()
    }


def set_weights(network: Network, weights: dict[str, Tensor], point: int) -> Network:
    """The obvious way: a copy with the weights of one point."""
    moved = copy.deepcopy(network)
    for name, values in weights.items():
        moved.get_parameter(name).data.copy_(values[point])
    return moved


@pytest.mark.parametrize(("name", "fields"), CASES, ids=str)
def test_outputs_are_those_of_weights_set_one_by_one(name: str, fields: dict[str, Any]) -> None:
    """In float64 to its rounding; the network itself is left as it was."""
    network = warmed(name, **fields)
    before = copy.deepcopy(network.state_dict())
    weights = {name: values.double() for name, values in scatter(network, 3).items()}
    images = torch.randn(5, *network.spec.input_shape)
    outputs = Passes(network, precision="fp64")(weights, {}, images)
    with torch.no_grad():
        expected = [set_weights(network.double(), weights, point)(images.double()) for point in range(3)]
    assert torch.allclose(outputs, torch.stack(expected), rtol=1e-11, atol=1e-11)
    assert all(torch.equal(values.float(), before[name].float()) for name, values in network.state_dict().items())


def test_precisions_differ_by_their_rounding() -> None:
    """Outputs are float32 of bfloat16 too, and of float64 in full."""
    network = warmed()
    weights, images = scatter(network, 2), torch.randn(5, *network.spec.input_shape)
    exact = Passes(network, precision="fp64")({name: values.double() for name, values in weights.items()}, {}, images)
    bounds: dict[Precision, tuple[float, float]] = {"fp32": (0, 1e-5), "bf16": (1e-4, 0.05)}
    for precision, (least, most) in bounds.items():
        outputs = Passes(network, precision=precision)(weights, {}, images)
        assert outputs.dtype == torch.float32
        assert least <= (outputs - exact).norm() / exact.norm() < most


@pytest.mark.parametrize("fields", [{}, {"order": "pre"}], ids=str)
def test_statistics_settle_as_by_hand(fields: dict[str, Any]) -> None:
    """As when a batch goes through in train mode, with a momentum of one, at weights set one by one."""
    network = warmed(**fields).double()
    before = copy.deepcopy(network.state_dict())
    weights, images = scatter(network, 3), torch.randn(11, *network.spec.input_shape).double()
    passes = Passes(network, precision="fp64")
    settled = Settling(passes, images)(weights)
    tested = torch.randn(4, *network.spec.input_shape).double()
    outputs = passes(weights, settled, tested)
    for point in range(3):
        moved = set_weights(network, weights, point).train()
        for module in moved.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.momentum = 1.0
        moved(images)
        for name, values in settled.items():
            assert torch.allclose(values[point], moved.get_buffer(name), rtol=1e-11)
        with torch.no_grad():
            assert torch.allclose(outputs[point], moved.eval()(tested), rtol=1e-9, atol=1e-11)
    assert len(settled) == sum(name.endswith(("_mean", "_var")) for name, _ in network.named_buffers())
    assert all(torch.equal(values, before[name]) for name, values in network.state_dict().items())


def test_networks_without_statistics_are_refused() -> None:
    """Those with group normalization, or none."""
    passes = Passes(create_model("cifar-resnet-8", norm="group"), precision="fp32")
    with pytest.raises(UserError, match="no statistics of batch normalization; leave out norms=anew"):
        Settling(passes, torch.zeros(2, 3, 32, 32))


def test_a_stack_of_one_is_as_precise_as_the_network() -> None:
    """Numbers; counts stay whole."""
    network = warmed().double()
    stacked = stack_one({"w": torch.ones(3), "n": torch.tensor(4)}, network)
    assert stacked["w"].dtype == torch.float64
    assert stacked["w"].shape == (1, 3)
    assert stacked["n"].dtype == torch.int64
