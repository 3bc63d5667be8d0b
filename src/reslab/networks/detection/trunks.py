"""What a detector keeps of a network: its maps, and what it does with a region. The classifier goes.

Of a residual network the last stage runs on each region; of VGG the two fully-connected layers do, as in Fast R-CNN.
"""

import abc

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from reslab.errors import UserError
from reslab.networks.build import build
from reslab.networks.checkpointing import run_checkpointed
from reslab.networks.freezing import BODY, freeze
from reslab.networks.layers import FrozenBatchNorm
from reslab.networks.network import Network
from reslab.networks.resnet import ResidualNetwork
from reslab.spec import NetworkSpec, Spec, TorchvisionSpec, name_of
from reslab.spec.detection import SettledDetection


class Trunk(nn.Module, abc.ABC):
    """A network without its classifier. `widths` and `strides` are those of its maps; the last may serve regions."""

    widths: tuple[int, ...]
    strides: tuple[int, ...]
    region_width: int  # of what is made of a region
    checkpointing = False

    @abc.abstractmethod
    def shared(self, x: Tensor) -> Tensor:
        """Return the map that regions are cut from."""

    @abc.abstractmethod
    def of_regions(self, x: Tensor) -> Tensor:
        """Return what is known of regions (regions, region_width) by their maps."""

    def maps(self, x: Tensor) -> list[Tensor]:
        """Return the map of every stage, from the finest on."""
        raise NotImplementedError

    @abc.abstractmethod
    def region_layers(self) -> list[nn.Module]:
        """Return what only regions go through, where they are cut from the shared map."""

    @abc.abstractmethod
    def drop_region_layers(self) -> None:
        """Do without them: then it makes the shared map and no more."""


class ResidualTrunk(Trunk):
    """The stem and the stages of a plain or residual network; its names are the network's own."""

    def __init__(self, network: ResidualNetwork) -> None:
        super().__init__()
        self.stem, self.pool, self.blocks, self.final = network.stem, network.pool, network.blocks, network.final
        self.stages = network.stage_blocks
        self.checkpointing = network.checkpointing
        self.widths, self.strides = tuple(network.stage_widths.values()), tuple(network.stage_strides.values())
        self.region_width = self.widths[-1]

    def shared(self, x: Tensor) -> Tensor:
        """Return the map of the last stage but one."""
        x = self.pool(self.stem(x))
        for stage in self.stages[:-1]:
            x = self._run(stage, x)
        return x

    def of_regions(self, x: Tensor) -> Tensor:
        """Return the average of what the last stage makes of each region."""
        return self.final(self._run(self.stages[-1], x)).mean((2, 3))

    def maps(self, x: Tensor) -> list[Tensor]:
        """Return the map of every stage."""
        x, maps = self.pool(self.stem(x)), []
        for stage in self.stages:
            x = self._run(stage, x)
            maps.append(x)
        return maps

    def region_layers(self) -> list[nn.Module]:
        """Return the last stage."""
        return [*(self.blocks[name] for name in self.stages[-1]), self.final]

    def drop_region_layers(self) -> None:
        """Do without the last stage."""
        for name in self.stages[-1]:
            del self.blocks[name]
        self.final = nn.Identity()

    def _run(self, stage: list[str], x: Tensor) -> Tensor:
        blocks = [self.blocks[name] for name in stage]
        if self.checkpointing and x.requires_grad:
            return run_checkpointed(blocks, x)
        for block in blocks:
            x = block(x)
        return x


class VggTrunk(Trunk):
    """VGG without its last pool and layer: regions of 7x7 go through the two fully-connected layers."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        features, classifier = (network.get_submodule(f"model.{name}") for name in ("features", "classifier"))
        assert isinstance(features, nn.Sequential) and isinstance(classifier, nn.Sequential)
        self.model = nn.ModuleDict({"features": features[:-1], "classifier": classifier[:-1]})
        self.widths, self.strides = (512,), (16,)
        self.region_width = 4096

    def shared(self, x: Tensor) -> Tensor:
        """Return the last map, of conv5_3."""
        return self.model["features"](x)

    def of_regions(self, x: Tensor) -> Tensor:
        """Return the last fully-connected layer's output."""
        return self.model["classifier"](x.flatten(1))

    def region_layers(self) -> list[nn.Module]:
        """Return the fully-connected layers."""
        return [self.model["classifier"]]

    def drop_region_layers(self) -> None:
        """Do without the fully-connected layers."""
        del self.model["classifier"]

    def freeze(self, stages: int) -> None:
        """Leave the convolutions up to the end of a stage alone."""
        features = self.model["features"]
        assert isinstance(features, nn.Sequential)
        for layer in features:
            if not stages:
                break
            layer.requires_grad_(requires_grad=False)
            stages -= isinstance(layer, nn.MaxPool2d)


def make_trunk(spec: Spec, plan: SettledDetection) -> Trunk:
    """Build the network of `spec` as a trunk, with as much of it frozen as is asked for."""
    if isinstance(spec, TorchvisionSpec) and spec.architecture in ("vgg16", "vgg19"):
        if plan.head == "fpn" or plan.pooled_side != 7:
            raise UserError(
                f"task.head={plan.head} with task.pooled_side={plan.pooled_side} does not fit {name_of(spec)}, whose "
                "layers take maps of 7x7; use task.head=c4 task.pooled_side=7"
            )
        trunk = VggTrunk(build(spec))
        trunk.freeze(("none", "stem", "conv2", "conv3", "conv4", "shared").index(plan.freeze))
        return trunk
    if not isinstance(spec, NetworkSpec) or spec.dimensions != 2 or len(spec.stages) < 2:
        raise UserError(f"{name_of(spec)} cannot find objects; use a residual or plain network of images, or vgg-16")
    strides = tuple(spec.stage_strides.values())
    if plan.head == "fpn" and strides != (4, 8, 16, 32):
        raise UserError(
            f"task.head=fpn needs stages of strides 4, 8, 16 and 32, but {name_of(spec)} has {list(strides)}; "
            "use task.head=c4, or a network such as resnet-50"
        )
    if plan.head == "fpn" and len(plan.anchor_sides) != 5:
        raise UserError(
            f"task.anchor_sides has {len(plan.anchor_sides)} sides; task.head=fpn needs 5, one for each map"
        )
    network = build(spec)
    assert isinstance(network, ResidualNetwork)
    if plan.norm == "frozen":
        freeze_norms(network, epsilon=plan.norm_epsilon)
    if plan.freeze != "none":
        freeze(network, _find_last_shared(network, plan) if plan.freeze == "shared" else plan.freeze)
    return ResidualTrunk(network)


def _find_last_shared(network: Network, plan: SettledDetection) -> str:
    """Return the last stage of the network that proposals and regions share: of a pyramid it is the whole body."""
    return BODY if plan.head == "fpn" else [*network.stages][-2].removesuffix("_x")


def freeze_norms(network: nn.Module, *, epsilon: float) -> None:
    """Make every batch normalization a constant scale and shift."""
    for name, module in list(network.named_modules()):
        if isinstance(module, _BatchNorm):
            frozen = FrozenBatchNorm.of(module)
            frozen.eps = epsilon
            network.set_submodule(name, frozen)
