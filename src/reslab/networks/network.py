"""What every network here is, whatever its family: a trunk with named stages, and a head that reads its features."""

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from reslab.networks.layers import Observer
from reslab.spec import Preprocess, Spec
from reslab.spec.task import CLASSIFICATION
from reslab.spec.task_spec import TaskSpec

DenseParts: TypeAlias = tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]


@dataclass(frozen=True)
class StandIn:
    """What gives a network's features in place of its own trunk while it trains, by the same weights.

    Where it heeds no autocast, nor does the head.
    """

    trunk: Callable[[Tensor], Any]
    heeds_autocast: bool = True


class Network(nn.Module, abc.ABC):
    """A network that knows its spec. `preprocess`, `mean_image`, `class_names` and `task` come with trained weights.

    `stages` are the parts of the trunk by name, each with the activation that leaves it. `main_layers` are the stem,
    every stage and the input of the head. Networks without stages have neither. `responses` are the kernel sizes of the
    layers whose responses can be observed, by the name of the response.

    `class_words` describes classes whose names are codes, such as ImageNet's WordNet ids. `mean_image` (channels,
    height, width) is not a weight and not in the state dict; `preprocess` says whether it is used. `origin` is where
    the weights come from, for error messages. `stand_in` computes the trunk with faster kernels during training, where
    a network takes one; it has no weights of its own and is not copied. `thresholds` has for each label the probability
    from which an image has it, if they were tuned; else it is 0.5.
    """

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self.spec = spec
        self.stages: dict[str, str] = {}
        self.main_layers: tuple[str, ...] = ()
        self.responses: dict[str, int] = {}
        self.takes_stand_in = True
        self.checkpointing = False
        self.stand_in: StandIn | None = None
        self.preprocess: Preprocess | None = None
        self.mean_image: Tensor | None = None
        self.class_names: tuple[str, ...] | None = None
        self.class_words: dict[str, str] = {}
        self.task: TaskSpec = CLASSIFICATION
        self.thresholds: tuple[float, ...] | None = None
        self.origin = ""

    def take_knowledge(self, other: "Network") -> None:
        """Take over what came with another's weights: how images are prepared, and what the outputs mean."""
        for known in ("preprocess", "mean_image", "class_names", "class_words", "task", "thresholds"):
            setattr(self, known, getattr(other, known))

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits."""
        if self._acting is None or self._acting.heeds_autocast:
            return self.head(self.features(x))
        with torch.autocast(x.device.type, enabled=False):
            return self.head(self.features(x))

    def features(self, x: Tensor) -> Any:
        """Return the features that the head reads, by the trunk or by what stands in for it."""
        return self.trunk(x) if self._acting is None else self._acting.trunk(x)

    @property
    def _acting(self) -> StandIn | None:
        return self.stand_in if self.training else None

    @abc.abstractmethod
    def trunk(self, x: Tensor) -> Any:
        """Return the features that the head reads, by the network's own layers."""

    @abc.abstractmethod
    def head(self, features: Any) -> Tensor:
        """Return the logits of what the trunk made."""

    @abc.abstractmethod
    def observe(self, x: Tensor, see: Observer) -> Tensor:
        """Run forward and hand each intermediate result to `see` as it arises, so that none need be kept."""

    def activations(self, x: Tensor) -> dict[str, Tensor]:
        """Return the intermediate results by name, in the order they arise; the last is the logits."""
        seen: dict[str, Tensor] = {}
        self.observe(x, seen.__setitem__)
        return seen

    def dense_parts(self) -> DenseParts | None:
        """Return what makes the last map, and what classifies an average of it; not every network has such a map."""
        return None

    def weighted_logits(self, x: Tensor) -> list[tuple[float, Tensor]]:
        """Return what the training loss sums over: each set of logits with its weight."""
        return [(1.0, self(x))]

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"stand_in": None}


class Chain(Network):
    """A network that is one step after the other; the last step, its head, gives the logits.

    A step called `pooled` averages the last map.
    """

    def __init__(self, spec: Spec, steps: dict[str, nn.Module]) -> None:
        super().__init__(spec)
        self.steps = nn.ModuleDict(steps)

    def trunk(self, x: Tensor) -> Tensor:
        """Return what the last step is given."""
        return self._run(x, slice(None, -1))

    def head(self, features: Tensor) -> Tensor:
        """Return what the last step gives."""
        return self._run(features, slice(-1, None))

    def observe(self, x: Tensor, see: Observer) -> Tensor:
        """Hand what leaves each step to `see`, by the step's name."""
        for name, step in self.steps.items():
            x = step(x)
            see(name, x)
        return x

    def dense_parts(self) -> DenseParts | None:
        """Return the steps before the average and those after it, where there is one."""
        if "pooled" not in self.steps:
            return None
        at = list(self.steps).index("pooled")
        return lambda x: self._run(x, slice(at)), lambda x: self._run(x, slice(at + 1, None))

    def _run(self, x: Tensor, which: slice) -> Tensor:
        for step in list(self.steps.values())[which]:
            x = step(x)
        return x
