"""Timing leaves no trace."""

from __future__ import annotations

import torch

from reslab.networks import create_model
from reslab.networks.execution import FAST
from reslab.networks.timing import measure_time


def test_weights_statistics_and_mode_are_left_as_found() -> None:
    """Timed steps neither train nor count, and both times are positive."""
    network = create_model("cifar-resnet-8").eval()
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    timing = measure_time(network, torch.randn(2, 3, 8, 8), execution=FAST, repeats=1)
    assert timing.forward_seconds > 0
    assert timing.step_seconds > 0
    assert not network.training
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, before[name])
