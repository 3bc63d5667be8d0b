"""LeNet-5 (LeCun et al., 1998) with the modern simplifications: full connections, average pools, a linear output.

61,706 parameters on 32x32 grey images with ten classes.
"""

from __future__ import annotations

from torch import nn

from reslab.networks.network import Chain
from reslab.spec import LeNetSpec


class LeNet(Chain):
    """Three convolutions and two fully-connected layers with tanh between."""

    def __init__(self, spec: LeNetSpec) -> None:
        super().__init__(
            spec,
            {
                "conv1": nn.Sequential(nn.Conv2d(spec.channels, 6, 5), nn.Tanh()),
                "pool1": nn.AvgPool2d(2),
                "conv2": nn.Sequential(nn.Conv2d(6, 16, 5), nn.Tanh()),
                "pool2": nn.AvgPool2d(2),
                "conv3": nn.Sequential(nn.Conv2d(16, 120, 5), nn.Tanh()),
                # On 32x32 images conv3 leaves one pixel; on larger ones the pool makes it one.
                "pooled": nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()),
                "fc1": nn.Sequential(nn.Linear(120, 84), nn.Tanh()),
                "logits": nn.Linear(84, spec.classes),
            },
        )
