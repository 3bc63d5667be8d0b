"""The constructed solution: deeper need not be worse, and what that takes."""

from __future__ import annotations

from typing import cast

import pytest
import torch
from torch import nn

from reslab.errors import UserError
from reslab.networks import create_model
from reslab.networks.blocks import Block
from reslab.networks.deepening import deepen
from reslab.networks.resnet import ResidualNetwork
from reslab.spec import NetworkSpec, Preprocess, find


def trained_like(name: str) -> ResidualNetwork:
    """A network whose statistics are not the initial ones."""
    network = cast(ResidualNetwork, create_model(name))
    with torch.no_grad():
        for _ in range(3):
            network(torch.randn(16, 3, 32, 32))
    return network.eval()


def spec(name: str) -> NetworkSpec:
    return cast(NetworkSpec, find(name))


@pytest.mark.parametrize(("shallow", "deep"), [("resnet-20", "resnet-56"), ("resnet-32", "resnet-44")])
def test_zero_branches_deepen_a_residual_network(shallow: str, deep: str) -> None:
    """The deeper ResNet gives exactly the shallower one's logits, in evaluation and in training."""
    network = trained_like(shallow)
    deeper = deepen(network, spec(deep)).eval()
    x = torch.randn(8, 3, 32, 32)
    assert torch.equal(deeper(x), network(x))
    assert torch.equal(deeper.train()(x), network.train()(x))


def test_bottlenecks_deepen_likewise() -> None:
    """ResNet-50 inside ResNet-101."""
    network = cast(ResidualNetwork, create_model("resnet-50")).eval()
    deeper = deepen(network, spec("resnet-101")).eval()
    x = torch.randn(1, 3, 64, 64)
    assert torch.equal(deeper(x), network(x))


def test_the_same_zeros_ruin_the_plain_twin() -> None:
    """Without shortcuts a zero block lets nothing through: every image gets the same logits."""
    network = trained_like("plain-20")
    deeper = deepen(network, spec("plain-56")).eval()
    for name, block in deeper.blocks.items():
        if name not in network.blocks:
            cast(nn.BatchNorm2d, cast(Block, block).last_norm).weight.data.zero_()
    x = torch.randn(8, 3, 32, 32)
    logits = deeper(x)
    assert not torch.allclose(logits, network(x))
    assert torch.equal(logits, logits[:1].expand_as(logits))


def test_the_plain_twin_needs_exact_identity_kernels() -> None:
    """With them the deeper plain network agrees to the bit; a small error in them does not cancel."""
    network = trained_like("plain-20")
    deeper = deepen(network, spec("plain-56")).eval()
    x = torch.randn(8, 3, 32, 32)
    assert torch.equal(deeper(x), network(x))
    with torch.no_grad():
        for name, parameter in deeper.named_parameters():
            if name.split(".")[1] not in network.blocks and name.endswith("conv.weight"):
                parameter.add_(0.02 * torch.randn_like(parameter))
    assert not torch.allclose(deeper(x), network(x), rtol=0.1)


def test_what_is_known_of_the_shallow_network_is_kept() -> None:
    """Images are prepared alike, and classes have the same names."""
    network = trained_like("resnet-20")
    network.preprocess, network.mean_image = Preprocess(mean=(0.4,)), torch.zeros(3, 32, 32)
    network.class_names = tuple("abcdefghij")
    deeper = deepen(network, spec("resnet-32"))
    assert (deeper.preprocess, deeper.mean_image) == (network.preprocess, network.mean_image)
    assert (deeper.class_names, deeper.task) == (network.class_names, network.task)


def test_a_network_that_is_not_deeper_is_refused() -> None:
    """Fewer blocks, another width, another option."""
    network = cast(ResidualNetwork, create_model("resnet-32"))
    for name, sentence in (("resnet-20", "fewer blocks"), ("resnet-34", "differs"), ("plain-56", "differs")):
        with pytest.raises(UserError, match=sentence):
            deepen(network, spec(name))


@pytest.mark.parametrize(
    "overrides",
    [
        {"norm": "none"},
        {"norm": "group"},
        {"shortcut": "C"},
        {"shortcut": "gated"},
        {"order": "pre"},
        {"shortcut": "none", "maxout": 2},
        {"shortcut": "none", "norm": "none"},
        {"shortcut": "none", "order": "pre"},
    ],
    ids=str,
)
def test_what_would_not_be_exact_is_refused(overrides: dict[str, object]) -> None:
    """Blocks that could not leave the network unchanged are not added in silence."""
    network = cast(ResidualNetwork, create_model("resnet-20", **overrides))
    with pytest.raises(UserError, match=r"a block added to .* would change its outputs; choose a network with "):
        deepen(network, cast(NetworkSpec, find("resnet-32", overrides)))


def test_frozen_norms_deepen_too() -> None:
    """Their affine is a buffer, and is zeroed all the same."""
    network = cast(ResidualNetwork, create_model("resnet-20", norm="frozen")).eval()
    deeper = deepen(network, cast(NetworkSpec, find("resnet-32", {"norm": "frozen"}))).eval()
    x = torch.randn(2, 3, 32, 32)
    assert torch.equal(deeper(x), network(x))
    with pytest.raises(UserError, match="norm differs"):
        deepen(network, spec("resnet-32"))
