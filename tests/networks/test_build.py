"""Every spec becomes a network."""

from __future__ import annotations

import itertools

import pytest
import torch

from reslab.networks import build
from reslab.networks.resnet import ResidualNetwork
from reslab.spec import find, list_models


@pytest.mark.parametrize("name", list_models())
def test_every_name_builds_on_the_meta_device(name: str) -> None:
    """Nothing is allocated, and the network is in train mode."""
    network = build(find(name), device="meta")
    assert network.training
    assert all(tensor.is_meta for tensor in network.state_dict().values())


@pytest.mark.parametrize(
    ("dimensions", "shape"), [(1, (8, 3, 32)), (2, (8, 3, 16, 16)), (3, (8, 3, 8, 8, 8))], ids=["1d", "2d", "3d"]
)
@pytest.mark.parametrize("shortcut", ["none", "A", "B", "C", "gated"])
@pytest.mark.parametrize("block", ["single", "basic", "bottleneck"])
def test_sequences_images_and_volumes(dimensions: int, shape: tuple[int, ...], shortcut: str, block: str) -> None:
    """Every shortcut and block runs and learns in every number of dimensions."""
    overrides = {"dimensions": dimensions, "shortcut": shortcut, "block": block, "classes": 4}
    network = build(find("cifar-resnet-20", overrides))
    logits = network(torch.randn(shape))
    logits.sum().backward()
    assert logits.shape == (8, 4)
    assert all(parameter.grad is not None for parameter in network.parameters())


@pytest.mark.parametrize("shortcut", ["none", "A", "B", "C", "gated"])
def test_dense_stacks(shortcut: str) -> None:
    """Vectors go through a fully-connected residual stack, and its widths may change."""
    stages = '[{"blocks": 2, "width": 16}, {"blocks": 2, "width": 32}]'
    network = build(find("dense-resnet-6", {"channels": 7, "shortcut": shortcut, "stages": stages, "stem.width": 16}))
    logits = network(torch.randn(5, 7))
    logits.sum().backward()
    assert logits.shape == (5, 10)


@pytest.mark.parametrize(
    ("order", "norm"),
    [
        *itertools.product(["post", "pre", "relu-before-addition"], ["batch", "none", "group", "frozen"]),
        *itertools.product(["bn-after-addition"], ["batch", "group", "frozen"]),
    ],
)
@pytest.mark.parametrize("block", ["single", "basic", "bottleneck"])
def test_orders_and_norms(order: str, norm: str, block: str) -> None:
    """Every operator order runs backward with every normalization it can have."""
    network = build(find("cifar-resnet-20", {"order": order, "norm": norm, "block": block, "shortcut": "B"}))
    logits = network(torch.randn(4, 3, 16, 16))
    logits.sum().backward()
    assert logits.isfinite().all()
    assert all(parameter.grad is not None for parameter in network.parameters())


@pytest.mark.parametrize(
    "options",
    [
        {"dropout": 0.3},
        {"maxout": 2},
        {"maxout": 3, "shortcut": "C"},
        {"stochastic_depth": 0.5},
        {"squeeze_excitation": 4},
        {"squeeze_excitation": 16, "block": "bottleneck", "shortcut": "gated"},
        {"zero_gamma": True},
        {"maxout": 2, "norm": "none", "dropout": 0.1, "stochastic_depth": 0.1, "squeeze_excitation": 2},
    ],
    ids=str,
)
def test_regularization_options(options: dict[str, object]) -> None:
    """Dropout, maxout, stochastic depth and squeeze-and-excitation run, together too, and end with evaluation."""
    network = build(find("cifar-resnet-20", options))
    x = torch.randn(4, 3, 16, 16)
    network(x).sum().backward()
    network.eval()
    assert torch.equal(network(x), network(x))


def test_any_image_size_passes() -> None:
    """The global average takes whatever map is left."""
    network = build(find("resnet-18"))
    assert network(torch.randn(2, 3, 97, 130)).shape == (2, 1000)


def test_the_default_device_is_respected() -> None:
    """Inside a device context the network is built there."""
    with torch.device("meta"):
        network = build(find("resnet-20"))
    assert isinstance(network, ResidualNetwork)
    assert network.classifier.weight.is_meta
