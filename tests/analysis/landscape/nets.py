"""Small networks whose weights have seen something, for tests of landscapes."""

from typing import Any

import torch

from reslab.networks import Network, create_model


def warmed(name: str = "cifar-resnet-8", *, size: int = 8, **fields: Any) -> Network:
    """A network with weights and statistics that are not those of the start, in evaluation mode."""
    torch.manual_seed(0)
    network = create_model(name, input_size=size, **fields)
    for parameter in network.parameters():
        parameter.data += 0.05 * torch.randn_like(parameter)
    for _ in range(3):
        network.train()(2 + 3 * torch.randn(16, *network.spec.input_shape))
    return network.eval()
