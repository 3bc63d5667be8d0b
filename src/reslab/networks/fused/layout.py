"""A network as the layers its chain is made of, each knowing what it reads and what arrives at its end."""

from dataclasses import dataclass
from typing import Any, Literal

from torch import nn

from reslab.networks.resnet import ResidualNetwork

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
            "INNER": max(self.conv.in_channels, TENSOR_CORE_WIDTH),  # channels the tensor cores take for those it reads
        }

    @property
    def target_side(self) -> int:
        """The side of its responses' map."""
        return self.side // self.conv.stride[0]


def lay_out(network: ResidualNetwork) -> list[ChainLayer]:
    """Return the layers of a network from its input to its last block; a projection comes before its block's end.

    Pre-activated, it is the same chain shifted: every convolution goes with the normalization that comes after it. An
    identity brings the sum before it, as it was before normalization; the first block, and blocks where dimensions
    change, start from an activated map, and so do their shortcuts.
    """
    spec = network.spec
    pre = spec.order == "pre"
    plans = list(spec.layout())
    stem: Any = network.stem
    blocks: list[Any] = [network.blocks[plan.name] for plan in plans]
    ends: list[Any] = [block.layers[-1] for block in blocks]  # with what normalizes a block's last responses
    if pre:
        ends = [*[block.preactivation or block.layers[0] for block in blocks[1:]], network.final]
    side = spec.input_size
    layers = [ChainLayer(conv=stem.conv, norm=stem.norm, side=side, reads=-1)]
    for plan, block, end in zip(plans, blocks, ends, strict=True):
        first, second = block.layers
        start, begins = len(layers) - 1, len(layers)
        norm = second.norm if pre else first.norm
        layers.append(ChainLayer(conv=first.conv, norm=norm, side=side, reads=start))
        if plan.shortcut == "projection":
            projection = block.shortcut
            layers.append(ChainLayer(conv=projection.conv, norm=projection.norm, side=side, reads=start, projects=True))
        side //= plan.stride
        from_sum = pre and plan.shortcut == "identity" and "norm" in first.operators
        layers.append(
            ChainLayer(
                conv=second.conv,
                norm=end.norm,
                side=side,
                reads=begins,
                shortcut="sum" if from_sum else plan.shortcut,
                joins_before=pre and plan.shortcut != "none",
                arrives=begins + 1 if plan.shortcut == "projection" else start,
                zeros_before=(plan.out_width - plan.in_width) // 2 if spec.zero_padding == "both" else 0,
            )
        )
    return layers


def layers_alike(layers: list[ChainLayer]) -> list[list[int]]:
    """Return, for every layer, the numbers of all layers of its shape, in order."""
    by_shape: dict[tuple[int, ...], list[int]] = {}
    for number, layer in enumerate(layers):
        by_shape.setdefault(tuple(layer.shape.values()), []).append(number)
    return [by_shape[tuple(layer.shape.values())] for layer in layers]
