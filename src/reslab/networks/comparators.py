"""Networks that the paper's are compared with: Highway networks and LeNet-5, each one step after the other.

Highway networks (Srivastava, Greff and Schmidhuber, 2015) have the authors' published layout: y = H(x) T(x) + x (1 -
T(x)) with H = ReLU of a 3x3 convolution and T = sigmoid of another, biased to -2. Highway-19 has 2,256,838 parameters.
LeNet-5 (LeCun et al., 1998) has the modern simplifications: full connections, average pools, a linear output. It has
61,706 parameters on 32x32 grey images with ten classes.
"""

from torch import Tensor, nn

from reslab.networks.dropout import Dropout
from reslab.networks.network import Chain
from reslab.spec import HighwaySpec, LeNetSpec


class HighwayLayer(nn.Module):
    """One gated layer of constant width."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.transform = nn.Conv2d(width, width, 3, padding=1)
        self.gate = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return x.lerp(self.transform(x).relu(), self.gate(x).sigmoid())


class HighwayNetwork(Chain):
    """Stages of highway layers, each opened by a plain convolution and closed by a max-pool."""

    def __init__(self, spec: HighwaySpec) -> None:
        steps: dict[str, nn.Module] = {"dropout1": Dropout(spec.dropout)}
        width = spec.channels
        for number, stage in enumerate(spec.stages, start=1):
            if number > 1:
                steps[f"pool{number - 1}"] = nn.MaxPool2d(2)
                steps[f"dropout{number}"] = Dropout(spec.dropout)
            steps[f"conv{number}"] = nn.Sequential(nn.Conv2d(width, stage.width, 3, padding=1), nn.ReLU(inplace=True))
            for index in range(1, stage.blocks + 1):
                steps[f"highway{number}_{index}"] = HighwayLayer(stage.width)
            width = stage.width
        steps["neck"] = nn.Sequential(nn.Conv2d(width, spec.neck, 1), nn.ReLU(inplace=True))
        steps["pooled"] = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
        steps["dropout"] = Dropout(spec.dropout)
        steps["logits"] = nn.Linear(spec.neck, spec.classes)
        super().__init__(spec, steps)
        for name, module in self.named_modules():
            if isinstance(module, (nn.Conv2d, nn.Linear)):
                nn.init.xavier_uniform_(module.weight)
                bias = spec.gate_bias if name.endswith(".gate") else 0.0
                nn.init.constant_(module.bias, bias)  # pyright: ignore[reportArgumentType]


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
