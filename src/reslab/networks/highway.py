"""Highway networks (Srivastava, Greff and Schmidhuber, 2015), after the authors' published layout.

y = H(x) T(x) + x (1 - T(x)) with H = ReLU of a 3x3 convolution and T = sigmoid of another, biased to -2.
Highway-19 has 2,256,838 parameters.
"""

from __future__ import annotations

from torch import Tensor, nn

from reslab.networks.dropout import Dropout
from reslab.networks.network import Chain
from reslab.spec import HighwaySpec


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
