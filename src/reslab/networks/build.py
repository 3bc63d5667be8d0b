"""A spec becomes a network."""

from typing import cast

import torch

from reslab.networks.comparators import HighwayNetwork, LeNet
from reslab.networks.network import Network
from reslab.networks.resnet import ResidualNetwork
from reslab.runtime.randomness import torch_seeded
from reslab.spec import HighwaySpec, LeNetSpec, NetworkSpec, Spec, TorchvisionSpec
from reslab.spec.detection import Detection
from reslab.spec.task import CLASSIFICATION
from reslab.spec.task_spec import TaskSpec


def build(spec: Spec, *, task: TaskSpec = CLASSIFICATION, device: torch.device | str | None = None) -> Network:
    """Build the network that `spec` describes, in train mode, with new weights drawn from torch's generator.

    For a `task` that needs boxes it is a detector on top of that network.
    """
    with torch.device(device or torch.get_default_device()):
        if task.needs == "boxes":
            from reslab.networks.detection.detector import Detector  # which is built on a network itself

            return Detector(spec, cast(Detection, task))
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


def build_seeded(spec: Spec, *, task: TaskSpec = CLASSIFICATION, seed: int) -> Network:
    """Build a network with the weights that a training draws by its seed; torch's generator stays as it was."""
    with torch_seeded(seed):
        return build(spec, task=task, device="cpu")
