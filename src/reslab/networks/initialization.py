"""Initial weights: He's by default (reference [13] of the paper), from scratch, biases zero.

The paper does not say which fan, nor how the classifier starts: docs/deviations.md has our choices.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from torch import Tensor, nn

from reslab.networks.blocks import Block, Gate
from reslab.spec.network import Init

if TYPE_CHECKING:
    from reslab.networks.resnet import ResidualNetwork

WEIGHTS: dict[Init, Callable[[Tensor], object]] = {
    "he-fan-in": partial(nn.init.kaiming_normal_, mode="fan_in", nonlinearity="relu"),
    "he-fan-out": partial(nn.init.kaiming_normal_, mode="fan_out", nonlinearity="relu"),
    "xavier": nn.init.xavier_normal_,
    "orthogonal": partial(nn.init.orthogonal_, gain=nn.init.calculate_gain("relu")),
}
CLASSIFIER_DEVIATION = 0.01
GATE_BIAS = -2.0


def initialize(network: ResidualNetwork) -> None:
    """Draw the weights of every layer as the spec says; normalizations start as the identity."""
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
