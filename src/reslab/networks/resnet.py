"""Plain and residual networks: stem, stages of blocks, global average pool, classifier (paper, Table 1).

Parameters are named after the paper: ``blocks.conv3_1.layers.0.conv.weight`` is the first layer of conv3_1. Initial
weights are He's by default (reference [13]), biases zero; the paper does not say which fan, nor how the classifier
starts: docs/paper/deviations.md has our choices.
"""

import itertools
from collections.abc import Callable
from functools import partial

from torch import Tensor, nn

from reslab.networks.blocks import Block, Gate
from reslab.networks.checkpointing import run_checkpointed
from reslab.networks.layers import MAX_POOLS, Observer, make_layer, make_norm_activation
from reslab.networks.network import DenseParts, Network
from reslab.spec.network import Init, NetworkSpec

WEIGHTS: dict[Init, Callable[[Tensor], object]] = {
    "he-fan-in": partial(nn.init.kaiming_normal_, mode="fan_in", nonlinearity="relu"),
    "he-fan-out": partial(nn.init.kaiming_normal_, mode="fan_out", nonlinearity="relu"),
    "xavier": nn.init.xavier_normal_,
    "orthogonal": partial(nn.init.orthogonal_, gain=nn.init.calculate_gain("relu")),
}
CLASSIFIER_DEVIATION = 0.01
GATE_BIAS = -2.0


class ResidualNetwork(Network):
    """The network a `NetworkSpec` describes."""

    spec: NetworkSpec

    def __init__(self, spec: NetworkSpec) -> None:
        super().__init__(spec)
        plans = list(spec.layout())
        self.stem = make_layer(spec, spec.stem_plan, bias=spec.stem.bias)
        self.pool = _make_pool(spec)
        self.blocks = nn.ModuleDict({plan.name: Block(spec, plan) for plan in plans})
        self.final = make_norm_activation(spec, plans[-1].out_width) if spec.order == "pre" else nn.Identity()
        self.classifier = nn.Linear(plans[-1].out_width, spec.classes)
        grouped = itertools.groupby(plans, lambda plan: plan.stage)
        self.stage_blocks = [[plan.name for plan in group] for _, group in grouped]
        self.stages = {plan.stage: plan.name for plan in plans}
        self.main_layers = ("conv1", *self.stages, *(["pooled"] if spec.order == "pre" else []))
        self.responses = {"conv1.response": spec.stem.kernel}
        for plan in plans:
            self.responses |= {
                f"{plan.name}.response_{n}": layer.kernel for n, layer in enumerate(plan.layers, start=1)
            }
        self.checkpointing = spec.checkpointing
        _initialize(self)

    def trunk(self, x: Tensor) -> Tensor:
        """Return the average of the last map."""
        return self.average(self.feature_map(x))

    def head(self, features: Tensor) -> Tensor:
        """Return the logits of an average."""
        return self.classifier(features)

    def feature_map(self, x: Tensor) -> Tensor:
        """Return the last map, which is averaged and classified."""
        x = self.pool(self.stem(x))
        for names in self.stage_blocks:
            blocks = [self.blocks[name] for name in names]
            if self.checkpointing and x.requires_grad:
                x = run_checkpointed(blocks, x)
            else:
                for block in blocks:
                    x = block(x)
        return self.final(x)

    def dense_parts(self) -> DenseParts | None:
        """Return what makes the last map of an image, and the classifier."""
        return (self.feature_map, self.head) if self.spec.dimensions == 2 else None

    def observe(self, x: Tensor, see: Observer) -> Tensor:
        """Hand named intermediate results to `see`, in order.

        ``conv1``, ``pool1``, each block (``conv2_1``, ...), ``pooled`` and ``logits`` are what leaves that part;
        ``conv2_1.response_2`` is the response of the block's second layer: after its normalization, before
        the nonlinearity or the addition.
        """
        x = self.stem(x, see, "conv1.response")
        see("conv1", x)
        if not isinstance(self.pool, nn.Identity):
            x = self.pool(x)
            see("pool1", x)
        for block in self.blocks.values():
            x = block(x, see)
        if not isinstance(self.final, nn.Identity):
            x = self.final(x)
            see("final", x)
        x = self.average(x)
        see("pooled", x)
        x = self.head(x)
        see("logits", x)
        return x

    def average(self, x: Tensor) -> Tensor:
        """Global average pool over whatever map there is, so inputs may be of any size."""
        return x.mean(tuple(range(2, x.dim()))) if x.dim() > 2 else x

    @property
    def stage_strides(self) -> dict[str, int]:
        """How many input pixels one step on each stage's map spans."""
        return self.spec.stage_strides

    @property
    def stage_widths(self) -> dict[str, int]:
        """Channels each stage puts out."""
        return self.spec.stage_widths


def _make_pool(spec: NetworkSpec) -> nn.Module:
    if spec.pool == "none":
        return nn.Identity()
    # The authors' Caffe pools without padding and rounds up; the common choice pads and rounds down.
    padding, ceil_mode = (0, True) if spec.pool == "ceil" else (1, False)
    return MAX_POOLS[spec.dimensions](3, stride=2, padding=padding, ceil_mode=ceil_mode)


def _initialize(network: ResidualNetwork) -> None:
    """Draw the weights of every layer as the spec says; normalizations start as the identity."""
    if network.classifier.weight.is_meta:  # there is nothing to draw, and torch imports its compiler to draw that
        return
    fill = WEIGHTS[network.spec.init]
    for module in network.modules():
        if isinstance(module, (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)):
            fill(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    nn.init.normal_(network.classifier.weight, std=CLASSIFIER_DEVIATION)
    for module in network.modules():
        if isinstance(module, Gate):
            nn.init.constant_(module.conv.bias, GATE_BIAS)  # pyright: ignore[reportArgumentType]
        if network.spec.zero_gamma and isinstance(module, Block) and module.last_norm is not None:
            nn.init.zeros_(module.last_norm.weight)  # pyright: ignore[reportArgumentType]
