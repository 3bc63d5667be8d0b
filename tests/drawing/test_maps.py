"""Map sizes by arithmetic against those of the real network."""

from __future__ import annotations

import pytest
import torch

from reslab.drawing.maps import follow_map
from reslab.errors import UserError
from reslab.networks.build import build
from reslab.spec import NetworkSpec, find


@pytest.mark.parametrize(
    ("name", "overrides"),
    [
        ("resnet-34", {}),
        ("resnet-50", {}),
        ("resnet-50-v1.5", {}),
        ("resnet-20", {}),
        ("resnet-18", {"input_size": 223}),
        ("resnet-18", {"input_size": 97, "pool": "padded"}),
        ("resnet-18", {"input_size": 5}),
        ("resnet-20", {"input_size": 33, "stem.kernel": 5}),
        ("resnet-20", {"input_size": 17, "dimensions": 3}),
        ("resnet-20", {"input_size": 50, "dimensions": 1, "stages.1.stride": 3}),
    ],
)
def test_sizes_are_those_of_the_network(name: str, overrides: dict[str, object]) -> None:
    """Every size along the way is the one a real network puts out on the meta device."""
    spec = find(name, overrides)
    assert isinstance(spec, NetworkSpec)
    maps = follow_map(spec)
    seen = build(spec, device="meta").eval().activations(torch.empty(1, *spec.input_shape, device="meta"))
    assert maps.stem == seen["conv1"].shape[-1]
    assert maps.pool == seen.get("pool1", seen["conv1"]).shape[-1]
    for plan, sizes in zip(spec.layout(), maps.blocks, strict=True):
        real = [seen[f"{plan.name}.response_{number}"].shape[-1] for number in range(1, 1 + len(plan.layers))]
        assert list(sizes) == real, plan.name
        assert sizes[-1] == seen[plan.name].shape[-1]


def test_a_map_that_vanishes_is_refused() -> None:
    """An input of which the pool leaves nothing is the user's mistake."""
    spec = find("resnet-18", {"input_size": 1})
    assert isinstance(spec, NetworkSpec)
    with pytest.raises(UserError, match="input_size is 1"):
        follow_map(spec)
