"""What every network here is, whatever its family: logits, named activations, and what its weights were made for."""

from __future__ import annotations

import abc

from torch import Tensor, nn

from reslab.spec import Preprocess, Spec
from reslab.spec.trial import TaskName


class Network(nn.Module, abc.ABC):
    """A network that knows its spec. `preprocess`, `mean_image`, `class_names` and `task` come with trained weights.

    `class_words` say in words what classes are, by name, where names alone do not: ImageNet's are numbers of WordNet.
    The mean image (channels, height, width) is no weight and not in the state dict; `preprocess` says if it is used.
    `origin` is where the weights come from, as refusals call it; without it, they name the network.
    """

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self.spec = spec
        self.preprocess: Preprocess | None = None
        self.mean_image: Tensor | None = None
        self.class_names: tuple[str, ...] | None = None
        self.class_words: dict[str, str] = {}
        self.task: TaskName = "classification"
        self.origin = ""

    @abc.abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """Return the logits."""

    @abc.abstractmethod
    def activations(self, x: Tensor) -> dict[str, Tensor]:
        """Return the intermediate results by name, in the order they arise; the last is the logits."""

    def weighted_logits(self, x: Tensor) -> list[tuple[float, Tensor]]:
        """Return what the training loss sums over: each set of logits with its weight."""
        return [(1.0, self(x))]


class Chain(Network):
    """A network that is one step after the other; the last step gives the logits."""

    def __init__(self, spec: Spec, steps: dict[str, nn.Module]) -> None:
        super().__init__(spec)
        self.steps = nn.ModuleDict(steps)

    def forward(self, x: Tensor) -> Tensor:
        for step in self.steps.values():
            x = step(x)
        return x

    def activations(self, x: Tensor) -> dict[str, Tensor]:
        """Return what leaves each step, by its name."""
        seen: dict[str, Tensor] = {}
        for name, step in self.steps.items():
            x = seen[name] = step(x)
        return seen
