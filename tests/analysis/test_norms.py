"""Statistics of batches are used and leave no trace, unless they are asked to."""

from __future__ import annotations

import copy

import pytest
import torch
from tests.analysis.nets import make_batch, make_tiny
from torch.optim.swa_utils import update_bn

from reslab.analysis.norms import normalizing, retake_statistics


def test_a_batchs_statistics_are_those_of_training() -> None:
    """The outputs are training's, and the network is the same afterwards, buffers and modes included."""
    network, (images, _) = make_tiny(), make_batch(6)
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    with normalizing(network, "batch"), torch.no_grad():
        found = network(images)
    assert all(torch.equal(tensor, before[name]) for name, tensor in network.state_dict().items())
    assert not any(module.training for module in network.modules())
    training = copy.deepcopy(network).train()
    assert torch.equal(found, training(images))
    with normalizing(training, "fixed"):
        assert not any(module.training for module in training.modules())
    assert all(module.training for module in training.modules())


def test_fixed_statistics_are_the_networks_own() -> None:
    """As in a test; dropout is silent by either."""
    network, (images, _) = make_tiny(dropout=0.5), make_batch(6)
    expected = network(images)
    network.train()
    with normalizing(network, "fixed"):
        assert torch.equal(network(images), expected)
    with normalizing(network, "batch"):
        assert torch.equal(network(images), network(images))


def test_what_fails_leaves_the_network_as_it_was() -> None:
    """An interrupt too."""
    network = make_tiny()
    with pytest.raises(KeyboardInterrupt), normalizing(network, "batch"):
        raise KeyboardInterrupt
    assert not any(module.training for module in network.modules())
    assert all(one.track_running_stats for one in network.modules() if isinstance(one, torch.nn.BatchNorm2d))


def test_statistics_are_taken_anew_as_torch_does() -> None:
    """The mean over batches; all else is as it was."""
    network = make_tiny()
    batches = [make_batch(6, seed=seed)[0] for seed in range(3)]
    expected = copy.deepcopy(network)
    update_bn(batches, expected)
    momentum = network.stem.norm.momentum  # pyright: ignore[reportAttributeAccessIssue]
    retake_statistics(network, batches)
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, expected.state_dict()[name]), name
    assert not any(module.training for module in network.modules())
    assert network.stem.norm.momentum == momentum  # pyright: ignore[reportAttributeAccessIssue]
