"""The layers with weights of any network, by the paper's names: ``conv1``, ``conv2_1.2``, ``conv3_1.shortcut``."""

import re
from dataclasses import dataclass

from torch import Tensor, nn

from reslab.networks import Network

# By the modules' own names.
RENAMED = (
    (r"^stem\.conv$", "conv1"),
    (r"^blocks\.(\w+)\.layers\.(\d+)\.conv$", lambda found: f"{found[1]}.{int(found[2]) + 1}"),
    (r"^blocks\.(\w+)\.(shortcut|gate)\.conv$", r"\1.\2"),
    (r"^(?:blocks|steps|model)\.", ""),
)
BESIDE = re.compile(r"\.(shortcut|gate|excitation|downsample)\b")


@dataclass(frozen=True)
class WeightLayer:
    """A convolution or a linear layer; `beside` the path through the network are projections, gates and the like."""

    name: str
    module: nn.Module

    @property
    def weight(self) -> Tensor:
        """The kernel or matrix."""
        return self.module.get_parameter("weight")

    @property
    def stage(self) -> str:
        """The stage it is in: ``conv3`` for ``conv3_1.2``; else the part it is in, or itself."""
        return self.name.partition(".")[0].partition("_")[0]

    @property
    def beside(self) -> bool:
        """Whether it is no layer of the path."""
        return BESIDE.search(self.name) is not None


def list_layers(network: Network) -> list[WeightLayer]:
    """Return every layer of a network in the network's order."""
    kinds = (nn.Linear, nn.modules.conv._ConvNd)
    return [WeightLayer(_rename(name), each) for name, each in network.named_modules() if isinstance(each, kinds)]


def _rename(name: str) -> str:
    for pattern, new in RENAMED:
        name, found = re.subn(pattern, new, name)
        if found:
            break
    return name
