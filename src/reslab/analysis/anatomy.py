"""A network taken apart into its blocks, in a row: each can be run, left out, or put elsewhere.

Left out of a residual network, a block is its shortcut alone: the identity, option A's padding or the projection, and
what follows the addition. A gate counts as shut. A plain block has no shortcut: the identity takes its place, or, where
it changes dimensions, what option A would do but for average pooling: the map's means, and zeros for new channels.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from torch import Tensor, nn
from torch.nn import functional as F

from reslab.errors import UserError
from reslab.networks import Network
from reslab.networks.blocks import Block
from reslab.networks.comparators import HighwayLayer, HighwayNetwork
from reslab.networks.resnet import ResidualNetwork
from reslab.networks.torchvision_models import TorchvisionNetwork
from reslab.spec import name_of
from reslab.spec.network import BlockPlan

Step: TypeAlias = Callable[[Tensor], Tensor]
Left: TypeAlias = Literal["identity", "zero-padding", "projection", "average-pool"]
AVERAGE_POOLS = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}


@dataclass(frozen=True, kw_only=True)
class Part:
    """One block: the module that computes it, and what is `left` of it when it is left out.

    Those of a stage that are `exchangeable` can stand in each other's place.
    """

    name: str
    stage: str
    module: nn.Module
    bypass: Step
    left: Left
    exchangeable: bool


@dataclass(frozen=True, kw_only=True)
class Anatomy:
    """What comes before the first block, the blocks, and what makes logits of what leaves the last.

    Between some blocks stands what belongs to none, such as a pool: `between` has it by the block that it precedes.
    """

    before: Step
    parts: tuple[Part, ...]
    between: dict[int, Step]
    after: Step

    def enter(self, index: int, x: Tensor) -> Tensor:
        """Return what reaches a place in the row: `x`, or what the pool before that place makes of it."""
        return self.between[index](x) if index in self.between else x


def take_apart(network: Network) -> Anatomy:
    """Return the blocks of a plain or residual network, a Highway network's layers, or a VGG's."""
    match network:
        case ResidualNetwork():
            return _of_blocks(network)
        case HighwayNetwork():
            return _of_layers(network)
        case TorchvisionNetwork() if network.spec.architecture.startswith("vgg"):
            return _of_convolutions(network)
        case _:
            raise UserError(
                f"{name_of(network.spec)} has no blocks that can be told apart; choose a plain or residual network, "
                "a Highway network or a VGG"
            )


def _of_blocks(network: ResidualNetwork) -> Anatomy:
    return Anatomy(
        before=lambda x: network.pool(network.stem(x)),
        parts=tuple(_block_part(network, plan, first=index == 0) for index, plan in enumerate(network.spec.layout())),
        between={},
        after=lambda x: network.head(network.average(network.final(x))),
    )


def _block_part(network: ResidualNetwork, plan: BlockPlan, *, first: bool) -> Part:
    block = network.blocks[plan.name]
    assert isinstance(block, Block)
    left: Left = "identity"
    if plan.shortcut in ("zero-padding", "projection"):
        left = plan.shortcut  # pyright: ignore[reportAssignmentType]
    elif plan.shortcut == "none" and plan.changes:
        left = "average-pool"
    # The first block of a pre-activation network is given an activated map, as no other block is.
    given_activated = first and network.spec.order == "pre"
    return Part(
        name=plan.name,
        stage=plan.stage,
        module=block,
        bypass=_skip_plain(plan, network.spec.dimensions) if plan.shortcut == "none" else _shortcut_alone(block),
        left=left,
        exchangeable=not plan.changes and not given_activated,
    )


def _shortcut_alone(block: Block) -> Step:
    def bypass(x: Tensor) -> Tensor:
        if block.preactivation is not None:
            x = block.preactivation(x)
        assert block.shortcut is not None
        y = block.shortcut(x)
        return block.after(y.clone() if y is x else y)  # the activation works in place

    return bypass


def _skip_plain(plan: BlockPlan, dimensions: int) -> Step:
    if not plan.changes:
        return lambda x: x
    new = plan.out_width - plan.in_width

    def bypass(x: Tensor) -> Tensor:
        if plan.stride != 1 and dimensions:
            x = AVERAGE_POOLS[dimensions](x, plan.stride, ceil_mode=True)
        return F.pad(x, (*[0, 0] * dimensions, 0, new))

    return bypass


def _of_layers(network: HighwayNetwork) -> Anatomy:
    names = list(network.steps)
    layers = [name for name in names if isinstance(network.steps[name], HighwayLayer)]
    places = [names.index(name) for name in layers]

    def chain(start: int, stop: int) -> Step:
        return nn.Sequential(*[network.steps[name] for name in names[start:stop]])

    return Anatomy(
        before=chain(0, places[0]),
        parts=tuple(
            Part(
                name=name,
                stage=name.split("_")[0],
                module=network.steps[name],
                bypass=lambda x: x,
                left="identity",
                exchangeable=True,
            )
            for name in layers
        ),
        between={
            index: chain(places[index - 1] + 1, place)
            for index, place in enumerate(places)
            if index and place > places[index - 1] + 1
        },
        after=chain(places[-1] + 1, len(names)),
    )


def _of_convolutions(network: TorchvisionNetwork) -> Anatomy:
    """Take each convolution of a VGG with its normalization and ReLU; the first one is the stem."""
    groups = list(_group_convolutions(network.model.get_submodule("features")))
    (_, stem), *rest = groups
    parts: list[Part] = []
    between: dict[int, Step] = {}
    stage, number = 1, 1
    pools: list[nn.Module] = []
    for convolution, layers in rest:
        if convolution is None:
            pools += layers
            stage, number = stage + 1, 0
            continue
        if pools:
            between[len(parts)] = nn.Sequential(*pools)
            pools = []
        number += 1
        grown = convolution.out_channels - convolution.in_channels
        parts.append(
            Part(
                name=f"conv{stage}_{number}",
                stage=f"conv{stage}",
                module=nn.Sequential(*layers),
                bypass=(lambda x, grown=grown: F.pad(x, (0, 0, 0, 0, 0, grown))) if grown else lambda x: x,
                left="zero-padding" if grown else "identity",
                exchangeable=not grown,
            )
        )
    ending = nn.Sequential(
        *pools, network.model.get_submodule("avgpool"), nn.Flatten(), network.model.get_submodule("classifier")
    )
    return Anatomy(before=nn.Sequential(*stem), parts=tuple(parts), between=between, after=ending)


def _group_convolutions(features: nn.Module) -> Iterator[tuple[nn.Conv2d | None, list[nn.Module]]]:
    """Yield each convolution with what follows it up to the next one or a pool, and each pool by itself."""
    group: list[nn.Module] = []
    for layer in features.children():
        if isinstance(layer, (nn.Conv2d, nn.MaxPool2d)) and group:
            yield _first_convolution(group), group
            group = []
        group.append(layer)
    yield _first_convolution(group), group


def _first_convolution(group: list[nn.Module]) -> nn.Conv2d | None:
    return group[0] if isinstance(group[0], nn.Conv2d) else None
