"""Random layers draw from the generator they are given, and are what torch and torchvision call by their names."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torchvision.ops import StochasticDepth as TheirDepth

from reslab.networks import create_model
from reslab.networks.dropout import Dropout, StochasticDepth, draw_from


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(Dropout(0.3), nn.Dropout(0.3)), (StochasticDepth(0.3), TheirDepth(0.3, "row"))],
    ids=["dropout", "stochastic depth"],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_same_as_theirs(ours: nn.Module, theirs: nn.Module, dtype: torch.dtype) -> None:
    """From the same seed, of torch's generator or of one's own; in evaluation nothing happens."""
    x = torch.randn(16, 4, 3, 3, dtype=dtype)
    torch.manual_seed(5)
    expected = theirs(x)
    torch.manual_seed(5)
    draw_from(ours, None)
    assert torch.equal(ours(x), expected)
    assert draw_from(ours, torch.Generator().manual_seed(5))
    assert torch.equal(ours(x), expected)
    assert ours.eval()(x) is x
    ours.train()


@pytest.mark.parametrize(
    "network",
    [
        ("cifar-resnet-8", {"dropout": 0.2, "stochastic_depth": 0.2}),
        ("cifar-resnet-8", {"dropout": 0.2, "checkpointing": True}),
        ("highway-19", {}),
        ("efficientnet-b0", {"input_size": 32}),
    ],
    ids=lambda network: network[0],
)
def test_torchs_generator_is_left_alone(network: tuple[str, dict[str, object]]) -> None:
    """A network with a generator of its own is a function of that one's seed, whatever others draw meanwhile."""
    model = create_model(network[0], **network[1]).train()
    generator = torch.Generator()
    assert draw_from(model, generator)
    x = torch.randn(2, 3, 32, 32)
    before = torch.get_rng_state()
    gradients = []
    for seed in (1, 1, 2):
        generator.manual_seed(seed)
        model.zero_grad()
        model(x).square().sum().backward()
        gradients.append([parameter.grad for parameter in model.parameters() if parameter.grad is not None])
    assert torch.equal(torch.get_rng_state(), before)
    assert all(map(torch.equal, gradients[0], gradients[1]))
    assert not all(map(torch.equal, gradients[0], gradients[2]))


def test_what_is_not_random_says_so() -> None:
    """Nothing there, or nothing with a rate."""
    assert not draw_from(create_model("resnet-20"), torch.Generator())
    assert not draw_from(create_model("highway-19", dropout=0.0), torch.Generator())
