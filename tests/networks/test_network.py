"""What all networks have in common."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from reslab.networks import build
from reslab.networks.network import Chain
from reslab.spec import find

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
    assert (network.class_words, network.task) == ({}, "classification")
    before = set(network.state_dict())
    network.mean_image, network.class_names = torch.zeros(3, 32, 32), ("a", "b")
    assert set(network.state_dict()) == before
