"""Many tensors as one."""

from __future__ import annotations

import torch
from torch import nn

from reslab.training.flat import FlatTensors, flatten

CPU = torch.device("cpu")


def test_tensors_keep_values_shapes_and_layouts() -> None:
    """Moved into one memory, each is what it was; a change of the whole is a change of each."""
    network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Conv2d(4, 2, 1), nn.Linear(5, 3)).to(
        memory_format=torch.channels_last
    )
    before = {name: weight.detach().clone() for name, weight in network.named_parameters()}
    strides = {name: weight.stride() for name, weight in network.named_parameters()}
    flat = FlatTensors.holding(dict(network.named_parameters()), device=CPU)
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
    flat = FlatTensors.holding(dict(one.named_parameters()), device=CPU)
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
