"""The paper's SGD against torch's and against the formula; AdamW against torch's."""

from __future__ import annotations

from typing import Literal

import pytest
import torch
from torch import nn

from reslab.spec.optimization import OptimizerSpec
from reslab.training.optimizer import AdamW, FlatTensors, Optimizer, PaperSGD, flatten, list_biases


def advance(paper: Optimizer, rate: float, *, allowed: bool = True) -> None:
    paper.gather()
    paper.measure()
    paper.step(torch.tensor(rate, dtype=torch.float64), torch.tensor(allowed))


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
        advance(paper, 0.1)
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
        advance(paper, rate)
        assert network.weight.item() == pytest.approx(expected)


def test_decay_may_spare_what_has_one_axis() -> None:
    """decay=weights reaches kernels and matrices, not biases and affines."""
    network = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    everything, weights = PaperSGD(network, OptimizerSpec()), PaperSGD(network, OptimizerSpec(decay="weights"))
    assert [everything.reaches(weight) for weight in network.parameters()] == [True] * 4
    assert [weights.reaches(weight) for weight in network.parameters()] == [True, False, False, False]


def test_gradients_are_clipped_together() -> None:
    """To the norm asked for."""
    network = nn.Linear(2, 2, bias=False)
    before = network.weight.detach().clone()
    network.weight.grad = torch.full_like(network.weight, 10.0)
    advance(PaperSGD(network, OptimizerSpec(clip_norm=1.0, weight_decay=0.0)), 1.0)
    assert (network.weight - before).norm().item() == pytest.approx(1.0, rel=1e-4)


@pytest.mark.parametrize("kind", [PaperSGD, AdamW])
def test_nothing_moves_unless_allowed(kind: type[Optimizer]) -> None:
    """Weights, moments and counts stay to the bit, even where gradients are not numbers."""
    network = nn.Linear(2, 2)
    optimizer = kind(network, OptimizerSpec())

    def state() -> list[torch.Tensor]:
        moments = [moment.flat for moment in optimizer.moments.values()]
        return [tensor.clone() for tensor in (optimizer.weights.flat, *moments, *optimizer.counts.values())]

    descend(network, torch.randn(4, 2))
    advance(optimizer, 0.1)
    before = state()
    descend(network, torch.full((4, 2), torch.nan))
    advance(optimizer, 0.1, allowed=False)
    assert all(torch.equal(now, then) for now, then in zip(state(), before, strict=True))
    assert network.weight.grad is None


@pytest.mark.parametrize("decay", ["all", "weights"])
def test_adamw_is_torchs_with_groups_of_their_own(decay: Literal["all", "weights"]) -> None:
    """Rates by stage, decay by axes, clipping and a falling rate agree with torch's parameter groups."""
    ours, theirs = (nn.Sequential(nn.Linear(5, 4), nn.Linear(4, 4), nn.Linear(4, 3)).double() for _ in range(2))
    theirs.load_state_dict(ours.state_dict())
    spec = OptimizerSpec(
        kind="adamw", weight_decay=0.1, decay=decay, body_rate=0.5, stage_decay=0.5, clip_norm=0.5, betas=(0.8, 0.95)
    )
    ahead = {name: 2 - int(name[0]) for name, _ in ours.named_parameters()}
    optimizer = AdamW(ours, spec, ahead=ahead)
    factors = {0: 0.125, 1: 0.25, 2: 1.0}
    groups = [
        {"params": [weight], "part": factors[int(name[0])]}
        | ({"weight_decay": 0.0} if decay == "weights" and weight.dim() == 1 else {})
        for name, weight in theirs.named_parameters()
    ]
    peer = torch.optim.AdamW(groups, betas=(0.8, 0.95), weight_decay=0.1)
    for rate in (2**-6, 2**-6, 2**-7):
        x = torch.randn(4, 5, dtype=torch.double)
        descend(ours, x)
        advance(optimizer, rate)
        descend(theirs, x)
        nn.utils.clip_grad_norm_(theirs.parameters(), 0.5)
        for group in peer.param_groups:
            group["lr"] = rate * group["part"]
        peer.step()
        peer.zero_grad()
    for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.allclose(one, other, rtol=1e-12)


class Tiny(nn.Module):
    """A body with a normalization, and a classifier; both have biases."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.body, self.head = nn.BatchNorm1d(5), nn.Linear(5, 4), nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(self.norm(x)).tanh())


AHEAD = {"head.weight": 0, "head.bias": 0}


def test_shifts_of_normalizations_are_no_biases() -> None:
    """Biases are those of kernels and matrices, of attention too."""
    assert list_biases(Tiny()) == {"body.bias", "head.bias"}
    assert list_biases(nn.MultiheadAttention(4, 2)) == {"in_proj_bias", "out_proj.bias"}


@pytest.mark.parametrize("kind", ["sgd", "adamw"])
@pytest.mark.parametrize("decay", ["all", "weights"])
@pytest.mark.parametrize("head_decay", [10.0, 0.0])
def test_biases_and_the_classifier_are_groups_of_their_own(
    kind: Literal["sgd", "adamw"], decay: Literal["all", "weights"], head_decay: float
) -> None:
    """Twice the rate for biases, another decay for the classifier: as torch has it with a group for each."""
    ours, theirs = Tiny().double(), Tiny().double()
    theirs.load_state_dict(ours.state_dict())
    spec = OptimizerSpec(kind=kind, weight_decay=0.1, decay=decay, body_rate=0.5, bias_rate=2.0, head_decay=head_decay)
    optimizer = (PaperSGD if kind == "sgd" else AdamW)(ours, spec, ahead=AHEAD)
    groups = []
    for name, weight in theirs.named_parameters():
        rate = (1 if name.startswith("head") else 0.5) * (2 if name in ("body.bias", "head.bias") else 1)
        decayed = decay == "all" or weight.dim() > 1
        own = 0.1 * decayed * (head_decay if name.startswith("head") else 1)
        groups.append({"params": [weight], "lr": 2**-4 * rate, "weight_decay": own})
    peer = torch.optim.SGD(groups, momentum=0.9) if kind == "sgd" else torch.optim.AdamW(groups)
    for _ in range(4):
        x = torch.randn(6, 5, dtype=torch.double)
        descend(ours, x)
        advance(optimizer, 2**-4)
        descend(theirs, x)
        peer.step()
        peer.zero_grad()
    for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.allclose(one, other, rtol=1e-12, atol=1e-12)


def test_kernels_in_any_layout_are_updated_in_place() -> None:
    """A channels-last kernel moves as its contiguous twin does, and stays channels-last."""
    kernels = nn.Conv2d(3, 4, 3), nn.Conv2d(3, 4, 3)
    kernels[1].load_state_dict(kernels[0].state_dict())
    kernels[1].to(memory_format=torch.channels_last)
    x = torch.randn(2, 3, 8, 8)
    for kernel in kernels:
        paper = PaperSGD(kernel, OptimizerSpec(clip_norm=5.0))
        for _ in range(3):
            descend(kernel, x)
            advance(paper, 0.1)
    assert torch.allclose(kernels[0].weight, kernels[1].weight, atol=1e-6)
    assert kernels[1].weight.is_contiguous(memory_format=torch.channels_last)


def test_gradients_of_a_scaled_loss_are_scaled_back() -> None:
    """By a power of two, which rounds nothing."""
    network, x = nn.Linear(2, 2), torch.randn(4, 2)
    paper = PaperSGD(network, OptimizerSpec())
    descend(network, x)
    paper.gather()
    once = paper.gradients.clone()
    descend(network, x)
    for weight in network.parameters():
        assert weight.grad is not None
        weight.grad *= 1024
    paper.gather(scale=torch.tensor(1024.0))
    assert torch.equal(paper.gradients, once)


def test_measuring_tells_whether_gradients_are_finite() -> None:
    """One infinite value among all of them is seen, and gradients are dropped once gathered."""
    network = nn.Linear(2, 2)
    paper = PaperSGD(network, OptimizerSpec())
    descend(network, torch.randn(4, 2))
    paper.gather()
    assert paper.measure().isfinite()
    assert network.weight.grad is None
    descend(network, torch.randn(4, 2))
    assert network.bias.grad is not None
    network.bias.grad[1] = torch.inf
    paper.gather()
    assert not paper.measure().isfinite()


def test_tensors_keep_values_shapes_and_layouts() -> None:
    """Moved into one memory, each is what it was; a change of the whole is a change of each."""
    network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Conv2d(4, 2, 1), nn.Linear(5, 3)).to(
        memory_format=torch.channels_last
    )
    before = {name: weight.detach().clone() for name, weight in network.named_parameters()}
    strides = {name: weight.stride() for name, weight in network.named_parameters()}
    flat = FlatTensors.holding(dict(network.named_parameters()), device=torch.device("cpu"))
    assert flat.flat.numel() == sum(weight.numel() for weight in before.values())
    for name, weight in network.named_parameters():
        assert torch.equal(weight, before[name])
        assert weight.stride() == strides[name]
    flat.flat.mul_(2)
    for name, weight in network.named_parameters():
        assert torch.equal(weight, 2 * before[name])
        assert torch.equal(flat.views[name], weight)


def test_another_network_can_share_the_memory() -> None:
    """What one writes the other reads."""
    one, other = nn.Linear(2, 2), nn.Linear(2, 2)
    flat = FlatTensors.holding(dict(one.named_parameters()), device=torch.device("cpu"))
    flat.attach(dict(other.named_parameters()))
    with torch.no_grad():
        one.weight.fill_(3.0)
    assert torch.equal(other.weight, one.weight)
    copied = flat.copy(torch.zeros_like(flat.flat))
    assert not copied.views["bias"].any()


def test_flattening_follows_memory() -> None:
    """In the order the values lie, not the order of the axes."""
    tensor = torch.arange(8.0).reshape(1, 2, 2, 2).to(memory_format=torch.channels_last)
    assert flatten(tensor).tolist() == [0, 4, 1, 5, 2, 6, 3, 7]
