"""The networks the paper is compared with, as frozen data.

Highway networks and LeNet-5 are built here; the others come from torchvision under one spec. A new family is a spec
here, an entry of `TYPES` and of `NAMED`, and what `reslab.networks` builds of it.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal, get_args

from reslab.errors import UserError, choices
from reslab.spec.codec import normalize, place
from reslab.spec.combinations import check_counts, check_probabilities
from reslab.spec.network import StageSpec

TorchvisionName = Literal[
    "alexnet",
    "vgg16",
    "vgg19",
    "vgg16_bn",
    "vgg19_bn",
    "googlenet",
    "densenet121",
    "efficientnet_b0",
    "vit_b_16",
]
# As they are called here: vgg-16-bn, densenet-121, vit-b-16.
TORCHVISION_NAMES: dict[str, TorchvisionName] = {
    re.sub(r"([a-z]{3,})(\d)", r"\1-\2", known).replace("_", "-"): known for known in get_args(TorchvisionName)
}


@dataclass(frozen=True, kw_only=True)
class ImageSpec:
    """What all comparison networks have: square images in, classes out.

    Fields:
        classes: How many outputs.
        channels: How many input channels.
        input_size: Side of the input.
    """

    kind: ClassVar[str]

    classes: int = 1000
    channels: int = 3
    input_size: int = 224

    def __post_init__(self) -> None:
        normalize(self)
        check_counts(self, "classes", "channels", "input_size")

    @property
    def depth(self) -> int | None:
        """Weight layers, where they make one path to count along."""
        return None

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one input, channels first."""
        return (self.channels, self.input_size, self.input_size)


@dataclass(frozen=True, kw_only=True)
class HighwaySpec(ImageSpec):
    """Srivastava et al. (2015): a plain convolution opens each stage, highway layers fill it.

    Fields:
        stages: A list of stages; `blocks` counts the highway layers.
        neck: Channels of the 1x1 convolution before the average pool.
        dropout: Probability of dropout on the input, between stages and before the classifier.
        gate_bias: Initial bias of the gates.
    """

    kind: ClassVar[str] = "highway"

    stages: tuple[StageSpec, ...]
    neck: int = 100
    dropout: float = 0.2
    gate_bias: float = -2.0
    classes: int = 10
    input_size: int = 32

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.stages:
            raise UserError(f"{place()}stages is empty; give at least one stage")
        for index, stage in enumerate(self.stages):
            if min(stage.blocks, stage.width) < 1 or stage.stride != 1:
                raise UserError(
                    f"{place()}stages.{index} needs blocks and width of at least 1 and stride 1: pools halve the map"
                )
        if self.neck < 1:
            raise UserError(f"{place()}neck is {self.neck}; it must be at least 1")
        check_probabilities(self, "dropout")

    @property
    def depth(self) -> int:
        """Weight layers: one to open each stage, its highway layers, the neck and the classifier."""
        return sum(1 + stage.blocks for stage in self.stages) + 2


@dataclass(frozen=True, kw_only=True)
class LeNetSpec(ImageSpec):
    """LeCun et al. (1998): two convolutions with average pools, then three wide layers."""

    kind: ClassVar[str] = "lenet"

    classes: int = 10
    channels: int = 1
    input_size: int = 32

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.input_size < 32:
            raise UserError(f"{place()}input_size is {self.input_size}; LeNet-5's last convolution needs at least 32")

    @property
    def depth(self) -> int:
        """Three convolutions and two fully-connected layers."""
        return 5


@dataclass(frozen=True, kw_only=True)
class TorchvisionSpec(ImageSpec):
    """A network built by torchvision.

    Fields:
        architecture: Its name in torchvision.
    """

    kind: ClassVar[str] = "torchvision"

    architecture: TorchvisionName


def highway(depth: int) -> HighwaySpec:
    """Return Highway-19 (the authors' layout) or Highway-32 (ours, 1.25M parameters: docs/paper/deviations.md)."""
    layouts = {19: ((4, 32), (5, 80), (5, 128)), 32: ((9, 18), (9, 44), (9, 72))}
    if depth not in layouts:
        raise UserError(f"there is no Highway network of {depth} layers: choose {choices(layouts)}")
    return HighwaySpec(stages=tuple(StageSpec(blocks=blocks, width=width) for blocks, width in layouts[depth]))


TYPES: tuple[type[ImageSpec], ...] = (HighwaySpec, LeNetSpec, TorchvisionSpec)
NAMED: dict[str, Callable[..., ImageSpec]] = {
    "highway-19": partial(highway, 19),
    "highway-32": partial(highway, 32),
    "lenet-5": LeNetSpec,
    **{name: partial(TorchvisionSpec, architecture=known) for name, known in TORCHVISION_NAMES.items()},
}
