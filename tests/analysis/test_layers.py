"""Layers with weights by the paper's names."""

from __future__ import annotations

import pytest
from torch import nn

from reslab.analysis.layers import list_layers
from reslab.networks import build
from reslab.spec import find


@pytest.mark.parametrize(
    ("name", "fields", "count"),
    [("resnet-20", {}, 20), ("plain-56", {}, 56), ("resnet-50", {}, 54), ("highway-19", {}, None), ("vgg-16", {}, 16)],
)
def test_every_layer_is_listed_once(name: str, fields: dict[str, str], count: int | None) -> None:
    """Those a depth counts, and projections; names are one layer's each."""
    network = build(find(name, fields), device="meta")
    layers = list_layers(network)
    kinds = (nn.Linear, nn.Conv2d)
    assert {id(layer.module) for layer in layers} == {id(one) for one in network.modules() if isinstance(one, kinds)}
    assert len({layer.name for layer in layers}) == len(layers) == (count or len(layers))


def test_names_are_the_papers() -> None:
    """In the network's order, with the stage; what is beside the path says so."""
    layers = list_layers(build(find("cifar-resnet-8", {"shortcut": "B"}), device="meta"))
    assert [(layer.name, layer.stage) for layer in layers[:4]] == [
        ("conv1", "conv1"),
        ("conv2_1.1", "conv2"),
        ("conv2_1.2", "conv2"),
        ("conv3_1.1", "conv3"),
    ]
    assert layers[-1].name == "classifier"
    assert [layer.name for layer in layers if layer.beside] == ["conv3_1.shortcut", "conv4_1.shortcut"]
    assert layers[0].weight.shape == (16, 3, 3, 3)
    gated = list_layers(build(find("cifar-resnet-8", {"shortcut": "gated"}), device="meta"))
    assert {layer.name for layer in gated if layer.beside} >= {"conv2_1.gate"}
