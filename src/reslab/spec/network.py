"""What a plain or residual network is, as frozen data (paper, sections 3.1-3.3 and 4.2).

`NetworkSpec` says everything `reslab.networks.build` needs; the depth and the block-by-block layout are derived from
it. The paper's own networks are made in `families.py`; `combinations.py` refuses what describes no network.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import ClassVar, Literal

from reslab.spec.codec import BEFORE, normalize
from reslab.spec.combinations import check

Block = Literal["single", "basic", "bottleneck"]
Shortcut = Literal["none", "A", "B", "C", "gated"]
Order = Literal["post", "pre", "bn-after-addition", "relu-before-addition"]
Norm = Literal["batch", "none", "group", "frozen"]
Init = Literal["he-fan-in", "he-fan-out", "xavier", "orthogonal"]
Pool = Literal["none", "ceil", "padded"]
Operator = Literal["conv", "norm", "activation", "dropout"]

BLOCK_KERNELS: dict[Block, tuple[int, ...]] = {"single": (3,), "basic": (3, 3), "bottleneck": (1, 3, 1)}
BOTTLENECK_EXPANSION = 4
PRE_REVISION = 2


@dataclass(frozen=True)
class OperatorOrder:
    """Where normalization and activation stand around each convolution and the addition."""

    inner: tuple[Operator, ...]
    last: tuple[Operator, ...]
    after: tuple[Operator, ...]


ORDERS: dict[Order, OperatorOrder] = {
    "post": OperatorOrder(("conv", "norm", "activation"), ("conv", "norm"), ("activation",)),
    "pre": OperatorOrder(("norm", "activation", "conv"), ("norm", "activation", "conv"), ()),
    "bn-after-addition": OperatorOrder(("conv", "norm", "activation"), ("conv",), ("norm", "activation")),
    "relu-before-addition": OperatorOrder(("conv", "norm", "activation"), ("conv", "norm", "activation"), ()),
}


@dataclass(frozen=True, kw_only=True)
class StemSpec:
    """The first convolution (conv1).

    Fields:
        kernel: Side of the kernel.
        width: Output channels.
        stride: The stride.
        bias: Add a bias.
    """

    kernel: int
    width: int
    stride: int = 1
    bias: bool = False

    def __post_init__(self) -> None:
        normalize(self, usual="stem.")


@dataclass(frozen=True, kw_only=True)
class StageSpec:
    """Blocks at one map size.

    Fields:
        blocks: How many blocks.
        width: Channels of the 3x3 layers. A bottleneck puts out four times as many.
        stride: Stride of the first block.
    """

    blocks: int
    width: int
    stride: int = 1

    def __post_init__(self) -> None:
        normalize(self)


@dataclass(frozen=True, kw_only=True)
class LayerPlan:
    """One weight layer of a block, with its place resolved."""

    in_width: int
    out_width: int
    kernel: int
    stride: int
    operators: tuple[Operator, ...]

    @property
    def normalizes_input(self) -> bool:
        """Whether the normalization, where there is one, stands before the convolution."""
        return "norm" in self.operators[: self.operators.index("conv")]


@dataclass(frozen=True, kw_only=True)
class BlockPlan:
    """One block with its place in the network resolved: what the builder builds and the pen draws.

    With `shares_preactivation`, branch and shortcut both start from the normalized, activated input.
    """

    name: str
    stage: str
    in_width: int
    out_width: int
    stride: int
    layers: tuple[LayerPlan, ...]
    shortcut: Literal["none", "identity", "zero-padding", "projection"]
    gated: bool
    shares_preactivation: bool
    drop_rate: float

    @property
    def changes(self) -> bool:
        """Whether the block changes dimensions: those of the map, or its channels."""
        return self.stride != 1 or self.in_width != self.out_width


@dataclass(frozen=True, kw_only=True)
class NetworkSpec:
    """A plain or residual network, complete.

    Fields:
        stem: Fields of the first convolution.
        pool: Pooling after the stem: `none`, `ceil` (the authors': no padding, rounds up) or `padded` (torchvision's).
        stages: A list of stages, each with blocks, width and stride.
        block: Layers per block: one 3x3 (`single`), two 3x3 (`basic`), or 1x1, 3x3, 1x1 (`bottleneck`).
        shortcut: `none` for a plain network, `A` (zero padding), `B` (projections where dimensions change), `C`
            (projections everywhere), or `gated`.
        zero_padding: Where option A puts its zero channels: `after` the old channels, or on `both` sides. Published
            weights exist for either.
        stride_in: Which layer of a bottleneck has the stride: `1x1` (the paper) or `3x3` (v1.5).
        order: Order of convolution, normalization and ReLU: `post` (the paper), `pre` (pre-activation),
            `bn-after-addition` or `relu-before-addition`.
        pre_revision: Which version of `order=pre` is meant, for dropout and for projections that keep dimensions. New
            networks have 2. Records without the field mean 1. None where it makes no difference.
        norm: Normalization: `batch`, `none`, `group`, or `frozen` (constant statistics, scale and shift).
        init: Distribution of the initial weights.
        zero_gamma: Start every residual branch at zero.
        dropout: Probability of dropout before the last convolution of a block.
        maxout: Pieces of maxout. 0 uses ReLU.
        stochastic_depth: Probability of dropping the last block in training; earlier blocks are dropped less often.
        squeeze_excitation: Reduction of squeeze-and-excitation. 0 for none.
        classes: How many outputs.
        channels: How many input channels.
        dimensions: Spatial dimensions: 1 for sequences, 2 for images, 3 for volumes, 0 for vectors (every convolution
            becomes a fully-connected layer).
        input_size: Side of the input.
        checkpointing: Recompute activations in the backward pass: less memory, same numbers, slower.

    In revision 2 of `order=pre`, dropout stands between the last ReLU and its convolution (Zagoruyko and Komodakis,
    2016), and branch and projection share the activated input (He et al., 2016). In revision 1, dropout stands before
    the last normalization, and a projection that keeps dimensions sees the sum as it is.
    """

    kind: ClassVar[str] = "residual"

    stem: StemSpec
    pool: Pool = "none"
    stages: tuple[StageSpec, ...]
    block: Block = "basic"
    shortcut: Shortcut = "A"
    zero_padding: Literal["after", "both"] = "after"
    stride_in: Literal["1x1", "3x3"] = "1x1"
    order: Order = "post"
    pre_revision: Literal[1, 2] | None = field(default=None, metadata={BEFORE: 1})
    norm: Norm = "batch"
    init: Init = "he-fan-in"
    zero_gamma: bool = False
    dropout: float = 0.0
    maxout: int = 0
    stochastic_depth: float = 0.0
    squeeze_excitation: int = 0
    classes: int = 1000
    channels: int = 3
    dimensions: Literal[0, 1, 2, 3] = 2
    input_size: int = 224
    checkpointing: bool = False

    def __post_init__(self) -> None:
        normalize(self)
        check(self)
        revision = (self.pre_revision or PRE_REVISION) if self._needs_revision() else None
        object.__setattr__(self, "pre_revision", revision)

    @property
    def residual(self) -> bool:
        """Whether the network has shortcuts."""
        return self.shortcut != "none"

    @property
    def depth(self) -> int:
        """Weight layers on the main path: the stem, the blocks and the classifier; projections do not count."""
        return 2 + sum(stage.blocks for stage in self.stages) * len(BLOCK_KERNELS[self.block])

    @property
    def operator_order(self) -> OperatorOrder:
        return ORDERS[self.order]

    @property
    def expansion(self) -> int:
        """How much wider a block's output is than its 3x3 layer."""
        return BOTTLENECK_EXPANSION if self.block == "bottleneck" else 1

    @property
    def stage_names(self) -> tuple[str, ...]:
        """The paper's names: conv2_x, conv3_x, ..."""
        return tuple(f"conv{number}_x" for number in range(2, 2 + len(self.stages)))

    @property
    def stage_widths(self) -> dict[str, int]:
        """Channels each stage puts out."""
        return {name: stage.width * self.expansion for name, stage in zip(self.stage_names, self.stages, strict=True)}

    @property
    def stage_strides(self) -> dict[str, int]:
        """How many input pixels one step on each stage's map spans."""
        stride = self.stem.stride * (1 if self.pool == "none" else 2)
        strides = {}
        for name, stage in zip(self.stage_names, self.stages, strict=True):
            stride *= stage.stride
            strides[name] = stride
        return strides

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one input, channels first."""
        return (self.channels, *[self.input_size] * self.dimensions)

    @property
    def stem_plan(self) -> LayerPlan:
        """The first layer, with its place resolved."""
        return LayerPlan(
            in_width=self.channels,
            out_width=self.stem.width,
            kernel=self.stem.kernel,
            stride=self.stem.stride,
            operators=("conv", "norm", "activation"),
        )

    def plain(self) -> NetworkSpec:
        """Return the twin without shortcuts, without the options that only shortcuts give a meaning."""
        order = self.order if self.order in ("post", "pre") else "post"
        return replace(self, shortcut="none", order=order, zero_gamma=False, stochastic_depth=0.0)

    def layout(self) -> Iterator[BlockPlan]:
        """Yield every block from input to output."""
        total = sum(stage.blocks for stage in self.stages)
        in_width, done = self.stem.width, 0
        for stage_name, stage in zip(self.stage_names, self.stages, strict=True):
            for index in range(stage.blocks):
                stride = stage.stride if index == 0 else 1
                out_width = stage.width * self.expansion
                changes = stride != 1 or in_width != out_width
                shortcut = self._shortcut(changes)
                done += 1
                projects = shortcut == "projection" and self.pre_revision != 1
                shares_preactivation = self.order == "pre" and (changes or projects) and done > 1
                # The activation after the stem, before the split, is the first block's (He et al., 2016).
                activated = shares_preactivation or (self.order == "pre" and done == 1)
                yield BlockPlan(
                    name=f"{stage_name[:-2]}_{index + 1}",
                    stage=stage_name,
                    in_width=in_width,
                    out_width=out_width,
                    stride=stride,
                    layers=tuple(self._layers(in_width, stage.width, stride, activated=activated)),
                    shortcut=shortcut,
                    gated=self.shortcut == "gated",
                    shares_preactivation=shares_preactivation,
                    # Linear decay: the deeper a block, the likelier it is dropped.
                    drop_rate=self.stochastic_depth * done / total,
                )
                in_width = out_width

    def _layers(self, in_width: int, width: int, stride: int, *, activated: bool) -> Iterator[LayerPlan]:
        kernels = BLOCK_KERNELS[self.block]
        strided = 1 if self.block == "bottleneck" and self.stride_in == "3x3" else 0
        for index, kernel in enumerate(kernels):
            last = index == len(kernels) - 1
            out_width = width * self.expansion if last else width
            operators = self.operator_order.last if last else self.operator_order.inner
            if activated and index == 0:
                operators = ("conv",)
            if self.dropout and last and index > 0:
                at = 0 if self.pre_revision == 1 else operators.index("conv")
                operators = (*operators[:at], "dropout", *operators[at:])
            yield LayerPlan(
                in_width=in_width,
                out_width=out_width,
                kernel=kernel,
                stride=stride if index == strided else 1,
                operators=operators,
            )
            in_width = out_width

    def _needs_revision(self) -> bool:
        """Whether anything depends on which revision of pre-activation it is; the first block comes activated."""
        if self.order != "pre":
            return False
        drops = self.dropout > 0 and len(BLOCK_KERNELS[self.block]) > 1
        others = islice(self.layout(), 1, None)
        return drops or any(plan.shortcut == "projection" and not plan.changes for plan in others)

    def _shortcut(self, changes: bool) -> Literal["none", "identity", "zero-padding", "projection"]:
        if self.shortcut == "none":
            return "none"
        if self.shortcut == "C":
            return "projection"
        if not changes:
            return "identity"
        return "zero-padding" if self.shortcut == "A" else "projection"
