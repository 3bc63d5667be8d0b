"""Trained networks without their shortcuts."""

from __future__ import annotations

from typing import cast

import pytest
import torch

from reslab.errors import UserError
from reslab.networks import create_model, remove_shortcuts
from reslab.networks.resnet import ResidualNetwork


@pytest.mark.parametrize("shortcut", ["A", "B", "C"])
def test_the_plain_twin_has_the_weights(shortcut: str) -> None:
    """All of them but projections, and what came with them; its blocks give what the branches gave."""
    network = cast(ResidualNetwork, create_model("resnet-20", shortcut=shortcut)).eval()
    network.class_names = tuple("abcdefghij")
    bare = remove_shortcuts(network).eval()
    assert bare.spec == network.spec.plain() and bare.class_names == network.class_names
    weights = network.state_dict()
    assert all(torch.equal(value, weights[name]) for name, value in bare.state_dict().items())
    assert {name for name in weights if name not in bare.state_dict()} == {
        name for name in weights if ".shortcut." in name
    }
    x = torch.rand(2, 16, 8, 8)
    first, twin = network.blocks["conv2_1"], bare.blocks["conv2_1"]
    branch = x
    for layer in first.layers:  # pyright: ignore[reportGeneralTypeIssues]
        branch = layer(branch)
    assert torch.equal(twin(x), branch.relu())


def test_it_does_not_share_memory() -> None:
    """Training the one leaves the other alone."""
    network = cast(ResidualNetwork, create_model("resnet-20"))
    bare = remove_shortcuts(network)
    for weight in bare.parameters():
        weight.data.zero_()
    assert network.get_parameter("classifier.weight").abs().sum() > 0


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("plain-20", "plain-20 has no shortcuts; give a residual network"), ("gated-resnet-20", "has gates in place")],
)
def test_what_has_none_is_refused(name: str, sentence: str) -> None:
    """In a sentence."""
    with pytest.raises(UserError, match=sentence):
        remove_shortcuts(cast(ResidualNetwork, create_model(name)))
