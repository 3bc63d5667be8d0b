"""A spec becomes a network."""

import torch

from reslab.networks.comparators import HighwayNetwork, LeNet
from reslab.networks.network import Network
from reslab.networks.resnet import ResidualNetwork
from reslab.spec import HighwaySpec, LeNetSpec, NetworkSpec, Spec, TorchvisionSpec


def build(spec: Spec, *, device: torch.device | str | None = None) -> Network:
    """Build the network that `spec` describes, in train mode, with new weights drawn from torch's generator."""
    with torch.device(device or torch.get_default_device()):
        match spec:
            case NetworkSpec():
                return ResidualNetwork(spec)
            case HighwaySpec():
                return HighwayNetwork(spec)
            case LeNetSpec():
                return LeNet(spec)
            case TorchvisionSpec():
                from reslab.networks.torchvision_models import TorchvisionNetwork  # torchvision is slow to import

                return TorchvisionNetwork(spec)
            case _:
                raise TypeError(f"build takes a spec, such as find('resnet-20'), but got {type(spec).__name__}")
