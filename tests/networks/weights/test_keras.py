"""Keras's ResNets, by either of its two names of layers, compute what they computed there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.networks.weights import layers_models
from torch import nn

from reslab.errors import UserError
from reslab.networks import build, create_model, load_model
from reslab.networks.resnet import ResidualNetwork
from reslab.networks.weights import keras
from reslab.networks.weights.keras import KERAS, read_keras
from reslab.networks.weights.layers_model import read_layers_model
from reslab.networks.weights.reading import read_weights
from reslab.runtime.sealed import seal
from reslab.spec import NetworkSpec, StageSpec, find
from reslab.spec.preprocess import AUTHORS

POOLS = {"ceil": "same", "padded": [[1, 1], [1, 1]]}


def make_keras(epsilon: float = 1e-3, **fields: Any) -> ResidualNetwork:
    """A small bottleneck network as Keras has it: with biases, an epsilon of its own, and statistics of a training."""
    spec = find("resnet-50", {"input_size": 32, "classes": 5, "stem.width": 8, **fields})
    assert isinstance(spec, NetworkSpec)
    stages = tuple(StageSpec(blocks=2, width=4 << number, stride=1 if number == 0 else 2) for number in range(4))
    network = build(replace(spec, stages=stages)).eval()
    assert isinstance(network, ResidualNetwork)
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            module.bias = nn.Parameter(torch.randn(module.out_channels) / 4)
        if isinstance(module, nn.BatchNorm2d):
            module.eps = epsilon
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.uniform_(module.running_var, 0.01, 1.0)  # pyright: ignore[reportArgumentType]
            for tensor in (module.bias, module.running_mean):
                nn.init.normal_(tensor)  # pyright: ignore[reportArgumentType]
    return network


def digest_raw(path: Path) -> str:
    """Return the digest of a model's tensors, before anything is folded."""
    return seal({}, dict(keras._rename(read_layers_model(path))))


@pytest.mark.parametrize("later", [False, True], ids=["authors' names", "later names"])
@pytest.mark.parametrize(("pool", "stride_in", "epsilon"), [("ceil", "1x1", 1e-3), ("padded", "3x3", 1.001e-5)])
def test_outputs_are_those_of_keras(later: bool, pool: str, stride_in: str, epsilon: float, tmp_path: Path) -> None:
    """Biases and epsilons are in the averages, strides and the pool's edge as the model says."""
    network = make_keras(epsilon, pool=pool, stride_in=stride_in)
    path = layers_models.write_layers_model(
        tmp_path, network, epsilon=epsilon, later=later, pool=POOLS[pool], stride_in=stride_in
    )
    images = torch.randn(4, 3, 32, 32)
    read = load_model(path.parent, input_size=32).eval()
    assert isinstance(read.spec, NetworkSpec)
    assert (read.spec.pool, read.spec.stride_in, read.spec.stem.bias) == (pool, stride_in, False)
    assert read.preprocess == KERAS
    torch.testing.assert_close(read(images), network(images), rtol=1e-3, atol=1e-3)


def test_the_authors_release_is_built_as_they_had_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Known by its digest, whatever the model says of epsilon and the pool's edge."""
    network = make_keras(1e-5, pool="ceil")
    path = layers_models.write_layers_model(tmp_path, network, epsilon=1e-3, pool=POOLS["padded"])
    monkeypatch.setattr(keras, "AUTHORS_RESNET_50", digest_raw(path))
    weights = read_keras(path)
    assert weights.preprocess == AUTHORS
    read = load_model(path, input_size=32).eval()
    images = torch.randn(4, 3, 32, 32)
    torch.testing.assert_close(read(images), network(images), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("depth", [50, 101, 152])
def test_later_names_are_those_of_the_depth(depth: int) -> None:
    """The authors letter the blocks of 50 layers, and number those of more in conv3 and conv4."""
    deep = depth > 50
    assert keras._authors_name("conv4_block6_2_conv", deep) == ("res4b5_branch2b" if deep else "res4f_branch2b")
    assert keras._authors_name("conv5_block1_0_bn", deep) == "bn5a_branch1"
    assert keras._authors_name("conv3_block1_3_conv", deep) == "res3a_branch2c"
    assert keras._authors_name("conv1_bn", deep) == "bn_conv1"


def test_other_networks_and_pools_are_refused(tmp_path: Path) -> None:
    """In a sentence that says what can be read."""
    network = make_keras()
    path = layers_models.write_layers_model(tmp_path, network, pool=[[0, 0], [0, 0]])
    with pytest.raises(UserError, match="pads the first pool in a way that reslab's networks do not"):
        read_weights(path)
    text = path.read_text()
    path.write_text(text.replace("res2a_branch2a", "dense_7"))
    with pytest.raises(UserError, match=r"is not a ResNet that can be read from Keras .* give ResNet-50, -101 or -152"):
        read_weights(path)
    path.write_text(text.replace('"same"', "7").replace('"valid"', '"same"').replace("strides", "steps"))
    with pytest.raises(UserError, match=r"has Keras's names, but cannot be read: .*strides"):
        read_weights(path)
    path.write_text(text.replace("bn3a_branch2b/moving_mean", "bn3a_branch2b/moved_mean"))
    with pytest.raises(UserError, match="has Keras's names, but cannot be read"):
        read_weights(path)


def test_a_network_by_name_takes_them(tmp_path: Path) -> None:
    """As weights=FOLDER; another network is refused."""
    path = layers_models.write_layers_model(tmp_path, make_keras())
    with pytest.raises(UserError, match="ask for that network, or give another file"):
        create_model("resnet-18", weights=path.parent)
