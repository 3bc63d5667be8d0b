"""The paper's SGD against torch's and against the formula."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from reslab.spec.recipe import OptimizerSpec
from reslab.training.optimizer import PaperSGD


def descend(network: nn.Module, x: torch.Tensor) -> None:
    network(x).square().mean().backward()


@pytest.mark.parametrize("nesterov", [False, True])
def test_equal_to_torchs_while_the_rate_is_constant(nesterov: bool) -> None:
    """Momentum, weight decay and Nesterov agree."""
    ours, theirs = nn.Linear(5, 3).double(), nn.Linear(5, 3).double()
    theirs.load_state_dict(ours.state_dict())
    paper = PaperSGD(ours, OptimizerSpec(nesterov=nesterov, weight_decay=0.01))
    peer = torch.optim.SGD(theirs.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=nesterov)
    for _ in range(10):
        x = torch.randn(4, 5, dtype=torch.double)
        descend(ours, x)
        paper.step(0.1)
        descend(theirs, x)
        peer.step()
        peer.zero_grad()
    assert torch.allclose(ours.weight, theirs.weight, rtol=1e-12)


def test_a_drop_of_the_rate_leaves_the_velocity() -> None:
    """v <- m v + rate g: after the rate falls to zero the weights coast on, as in Caffe."""
    network = nn.Linear(1, 1, bias=False)
    nn.init.zeros_(network.weight)
    paper = PaperSGD(network, OptimizerSpec(weight_decay=0.0))
    for gradient, rate, expected in ((1.0, 1.0, -1.0), (1.0, 0.0, -1.9), (0.0, 0.0, -2.71)):
        network.weight.grad = torch.full_like(network.weight, gradient)
        paper.step(rate)
        assert network.weight.item() == pytest.approx(expected)


def test_decay_may_spare_what_has_one_axis() -> None:
    """decay=weights reaches kernels and matrices, not biases and affines."""
    network = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    everything, weights = PaperSGD(network, OptimizerSpec()), PaperSGD(network, OptimizerSpec(decay="weights"))
    assert [everything.decays(weight) for weight in network.parameters()] == [True] * 4
    assert [weights.decays(weight) for weight in network.parameters()] == [True, False, False, False]


def test_gradients_are_clipped_together() -> None:
    """To the norm asked for."""
    network = nn.Linear(2, 2, bias=False)
    before = network.weight.detach().clone()
    network.weight.grad = torch.full_like(network.weight, 10.0)
    PaperSGD(network, OptimizerSpec(clip_norm=1.0, weight_decay=0.0)).step(1.0)
    assert (network.weight - before).norm().item() == pytest.approx(1.0, rel=1e-4)
