"""Tiny networks in float64 for instruments: warmed up, so that batch norm's own statistics mean something."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from reslab.networks import Network, create_model

SMALL = {"stem.width": 3, "stages.0.width": 3, "stages.1.width": 4, "stages.2.width": 4}


def make_tiny(name: str = "cifar-resnet-8", *, seed: int = 0, **fields: Any) -> Network:
    """A network of three classes for images of 1x8x8, in evaluation mode."""
    torch.manual_seed(seed)
    given = SMALL | {"channels": 1, "input_size": 8, "classes": 3} | fields
    network = create_model(name, **given).double()
    for _ in range(3):
        network(torch.randn(16, 1, 8, 8, dtype=torch.float64))
    with torch.no_grad():  # the classifier starts near zero, where gradients below it are too
        network.get_parameter("classifier.weight").mul_(30)
    return network.eval()


def make_batch(size: int, *, seed: int = 1) -> tuple[Tensor, Tensor]:
    """Images and classes."""
    torch.manual_seed(seed)
    return torch.randn(size, 1, 8, 8, dtype=torch.float64), torch.arange(size) % 3


def losses(outputs: Tensor, targets: Tensor) -> Tensor:
    """Each image's cross-entropy."""
    return F.cross_entropy(outputs, targets, reduction="none")
