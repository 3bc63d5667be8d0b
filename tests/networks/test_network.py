"""What all networks have in common."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from reslab.networks import build
from reslab.networks.network import Chain, StandIn
from reslab.spec import find
from reslab.spec.task import CLASSIFICATION

SPEC = find("lenet-5")


def make_chain() -> Chain:
    return Chain(SPEC, {"first": nn.Linear(2, 2, bias=False), "second": nn.ReLU(), "logits": nn.Linear(2, 1)})


def test_a_chain_is_its_steps_one_after_the_other() -> None:
    """Each is given what the one before it gave, and what leaves it goes by its name."""
    chain = make_chain()
    with torch.no_grad():
        chain.get_parameter("steps.first.weight").copy_(torch.tensor([[2.0, 0.0], [0.0, 2.0]]))
        chain.get_parameter("steps.logits.weight").copy_(torch.tensor([[1.0, 10.0]]))
        chain.get_parameter("steps.logits.bias").fill_(0.5)
    seen = chain.activations(torch.tensor([[-1.0, 3.0]]))
    assert {name: tensor.tolist() for name, tensor in seen.items()} == {
        "first": [[-2.0, 6.0]],
        "second": [[0.0, 6.0]],
        "logits": [[60.5]],
    }
    assert list(seen) == ["first", "second", "logits"]
    assert torch.equal(chain(torch.tensor([[-1.0, 3.0]])), seen["logits"])


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("cifar-resnet-8", {}),
        ("cifar-resnet-8", {"order": "pre", "shortcut": "C"}),
        ("cifar-resnet-8", {"dimensions": 1}),
        ("lenet-5", {}),
        ("highway-19", {}),
        ("alexnet", {"input_size": 64}),
    ],
)
def test_a_network_is_its_trunk_and_its_head(name: str, fields: dict[str, object]) -> None:
    """The head of the trunk's features gives the logits; what is observed last are the logits, and by its own name."""
    network = build(find(name, fields)).eval()
    x, seen = torch.randn(2, *network.spec.input_shape), []
    logits = network(x)
    assert torch.equal(network.head(network.trunk(x)), logits)
    assert torch.equal(network.observe(x, lambda name, activation: seen.append(name)), logits)
    assert list(network.activations(x)) == seen
    assert set(network.stages.values()) | set(network.responses) <= set(seen)


def test_stages_are_named_as_in_the_paper() -> None:
    """Each with its last block; what is not made of stages has none."""
    network = build(find("resnet-50"), device="meta")
    assert network.stages == {"conv2_x": "conv2_3", "conv3_x": "conv3_4", "conv4_x": "conv4_6", "conv5_x": "conv5_3"}
    assert network.responses["conv1.response"] == 7
    assert [network.responses[f"conv2_1.response_{number}"] for number in (1, 2, 3)] == [1, 3, 1]
    assert not build(find("highway-19"), device="meta").stages


@pytest.mark.parametrize(
    ("name", "fields", "divides"),
    [
        ("cifar-resnet-8", {}, True),
        ("cifar-resnet-8", {"dimensions": 1}, False),
        ("dense-resnet-4", {}, False),
        ("highway-19", {}, True),
        ("lenet-5", {}, True),
        ("vgg-16", {}, False),
    ],
)
def test_what_is_averaged_and_classified(name: str, fields: dict[str, object], divides: bool) -> None:
    """Where a network averages a map of an image, its two parts with the average between them are the network."""
    network = build(find(name, fields), device=None if divides else "meta").eval()
    parts = network.dense_parts()
    assert (parts is not None) is divides
    if parts is not None:
        x = torch.randn(2, *network.spec.input_shape)
        make_map, classify = parts
        torch.testing.assert_close(classify(make_map(x).mean((2, 3))), network(x))


@pytest.mark.parametrize("heeds_autocast", [True, False])
def test_something_may_stand_in_for_the_trunk_in_training(heeds_autocast: bool) -> None:
    """The head stays the network's own; no weights come with it, evaluation and copies know nothing of it."""
    network, x = build(find("cifar-resnet-8", {"input_size": 8})), torch.randn(2, 3, 8, 8)
    names, own = list(network.state_dict()), network(x)
    features = torch.randn(2, 64)
    network.stand_in = StandIn(lambda x: features, heeds_autocast=heeds_autocast)
    assert torch.equal(network(x), network.head(features))
    assert torch.equal(network.weighted_logits(x)[0][1], network.head(features))
    assert list(network.state_dict()) == names
    assert torch.equal(copy.deepcopy(network)(x), own)
    with torch.autocast("cpu", torch.bfloat16):
        assert network(x).dtype == (torch.bfloat16 if heeds_autocast else torch.float32)
        assert network.eval()(x).dtype == torch.bfloat16
    assert torch.equal(network(x), network.head(network.trunk(x)))


def test_the_loss_is_of_the_logits_alone() -> None:
    """With a weight of one, unless a family has others beside them."""
    chain, inputs = make_chain(), torch.randn(3, 2)
    ((weight, logits),) = chain.weighted_logits(inputs)
    assert weight == 1
    assert torch.equal(logits, chain(inputs))


@pytest.mark.parametrize("name", ["cifar-resnet-8", "lenet-5", "highway-19"])
def test_a_new_network_knows_its_spec_and_nothing_of_data(name: str) -> None:
    """What comes with trained weights is not there yet, and is no part of the state dict when it is."""
    network = build(find(name), device="meta")
    assert network.spec == find(name)
    assert network.preprocess is network.mean_image is network.class_names is None
    assert (network.class_words, network.task) == ({}, CLASSIFICATION)
    before = set(network.state_dict())
    network.mean_image, network.class_names = torch.zeros(3, 32, 32), ("a", "b")
    assert set(network.state_dict()) == before
