"""A network as the layers its chain is made of, each knowing what it reads and what arrives at its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from torch import nn

from reslab.networks.resnet import ResidualNetwork
from reslab.spec.network import BlockPlan, NetworkSpec

TENSOR_CORE_WIDTH = 16


@dataclass(kw_only=True)
class ChainLayer:
    """One convolution with its normalization, by the numbers of the layers around it.

    It reads the output of layer `reads` (-1: the images). `shortcut` is what arrives at its end: the output of layer
    `arrives`, or, of a projection or a sum, its responses. It is added to the normalized responses or, with
    `joins_before`, to the responses: then the normalization is that of the block after. A projection itself ends in no
    output of its own.
    """

    conv: nn.Conv2d
    norm: nn.BatchNorm2d
    side: int
    reads: int
    projects: bool = False
    shortcut: Literal["none", "identity", "zero-padding", "projection", "sum"] = "none"
    joins_before: bool = False
    arrives: int = -1
    zeros_before: int = 0

    @property
    def shape(self) -> dict[str, int]:
        """What the convolution's kernels are made for."""
        return {
            "SIDE": self.side,
            "STRIDE": self.conv.stride[0],
            "KERNEL": self.conv.kernel_size[0],
            "IN": self.conv.in_channels,
            "OUT": self.conv.out_channels,
        }

    @property
    def target_side(self) -> int:
        """The side of its responses' map."""
        return self.side // self.conv.stride[0]

    @property
    def inner(self) -> int:
        """Channels the tensor cores take for those it reads."""
        return max(self.conv.in_channels, TENSOR_CORE_WIDTH)


def lay_out(network: ResidualNetwork) -> list[ChainLayer]:
    """Return the layers of a network from its input to its last block; a projection comes before its block's end."""
    return _lay_out_preactivated(network) if network.spec.order == "pre" else _lay_out(network)


def _lay_out(network: ResidualNetwork) -> list[ChainLayer]:
    spec = network.spec
    stem: Any = network.stem
    side = spec.input_size
    layers = [ChainLayer(conv=stem.conv, norm=stem.norm, side=side, reads=-1)]
    for plan in spec.layout():
        block: Any = network.blocks[plan.name]
        first, second = block.layers
        start, begins = len(layers) - 1, len(layers)
        layers.append(ChainLayer(conv=first.conv, norm=first.norm, side=side, reads=start))
        if plan.shortcut == "projection":
            projection = block.shortcut
            layers.append(ChainLayer(conv=projection.conv, norm=projection.norm, side=side, reads=start, projects=True))
        side //= plan.stride
        layers.append(
            ChainLayer(
                conv=second.conv,
                norm=second.norm,
                side=side,
                reads=begins,
                shortcut=plan.shortcut,
                arrives=begins + 1 if plan.shortcut == "projection" else start,
                zeros_before=_zeros_before(spec, plan),
            )
        )
    return layers


def _lay_out_preactivated(network: ResidualNetwork) -> list[ChainLayer]:
    """Lay out the same chain shifted: every convolution goes with the normalization that comes after it.

    An identity brings the sum before it, as it was before normalization; the first block, and blocks where dimensions
    change, start from an activated map, and so do their shortcuts.
    """
    spec = network.spec
    stem: Any = network.stem
    side = spec.input_size
    plans = list(spec.layout())
    blocks: list[Any] = [network.blocks[plan.name] for plan in plans]
    afterwards = [block.preactivation or block.layers[0] for block in blocks[1:]]
    layers = [ChainLayer(conv=stem.conv, norm=stem.norm, side=side, reads=-1)]
    final: Any = network.final
    for plan, block, after in zip(plans, blocks, [*afterwards, final], strict=True):
        first, second = block.layers
        start, begins = len(layers) - 1, len(layers)
        layers.append(ChainLayer(conv=first.conv, norm=second.norm, side=side, reads=start))
        side //= plan.stride
        from_sum = plan.shortcut == "identity" and "norm" in first.operators
        layers.append(
            ChainLayer(
                conv=second.conv,
                norm=after.norm,
                side=side,
                reads=begins,
                shortcut="sum" if from_sum else plan.shortcut,
                joins_before=plan.shortcut != "none",
                arrives=start,
                zeros_before=_zeros_before(spec, plan),
            )
        )
    return layers


def _zeros_before(spec: NetworkSpec, plan: BlockPlan) -> int:
    return (plan.out_width - plan.in_width) // 2 if spec.zero_padding == "both" else 0


def layers_alike(layers: list[ChainLayer]) -> list[list[int]]:
    """Return, for every layer, the numbers of all layers of its shape, in order."""
    by_shape: dict[tuple[int, ...], list[int]] = {}
    for number, layer in enumerate(layers):
        by_shape.setdefault(tuple(layer.shape.values()), []).append(number)
    return [by_shape[tuple(layer.shape.values())] for layer in layers]
