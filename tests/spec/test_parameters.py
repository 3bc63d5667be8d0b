"""Parameters counted off a spec are those of the network that is built."""

from __future__ import annotations

from itertools import product
from typing import get_args

import pytest

from reslab.errors import UserError
from reslab.networks import build
from reslab.spec import Spec, find, list_models
from reslab.spec.network import Block, Norm, Order, Shortcut
from reslab.spec.parameters import count_parameters


def count_built(spec: Spec) -> int:
    return sum(parameter.numel() for parameter in build(spec, device="meta").parameters())


NAMES = [name for name in list_models() if not name.endswith("-1202")]  # those take seconds to build


@pytest.mark.parametrize("name", [*NAMES, "resnet-1202", "dense-resnet-14", "cifar-resnet-164"])
def test_every_named_network_is_counted(name: str) -> None:
    """Torchvision's, whose layers stand there, are not."""
    spec = find(name)
    assert count_parameters(spec) == (None if spec.kind == "torchvision" else count_built(spec))


@pytest.mark.parametrize("block", get_args(Block))
def test_blocks_are_counted_in_every_order_with_every_shortcut_and_normalization(block: Block) -> None:
    """As far as there are such networks."""
    counted = 0
    for shortcut, order, norm in product(get_args(Shortcut), get_args(Order), get_args(Norm)):
        fields = {"block": block, "shortcut": shortcut, "order": order, "norm": norm}
        try:
            spec = find("cifar-resnet-8" if block != "bottleneck" else "cifar-resnet-11", fields)
        except UserError:
            continue
        counted += 1
        assert count_parameters(spec) == count_built(spec), spec
    assert counted > 30


@pytest.mark.parametrize(
    "fields",
    [
        {"maxout": 2},
        {"dropout": 0.3, "block": "bottleneck"},
        {"dropout": 0.3, "maxout": 2, "order": "relu-before-addition"},
        {"order": "pre", "shortcut": "C", "pre_revision": 1},
        {"order": "pre", "shortcut": "C", "dropout": 0.3, "pre_revision": 2},
        {"maxout": 3, "norm": "none"},
        {"squeeze_excitation": 4, "block": "bottleneck"},
        {"squeeze_excitation": 999, "classes": 7},
        {"dimensions": 3, "channels": 1, "stem.bias": True},
        {"dimensions": 1, "shortcut": "gated", "zero_padding": "both"},
    ],
)
def test_what_else_a_network_may_have_is_counted(fields: dict[str, object]) -> None:
    """Pieces, excitation, biases, more and fewer dimensions."""
    spec = find("resnet-18", fields)
    assert count_parameters(spec) == count_built(spec)
