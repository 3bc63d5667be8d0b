"""What is new beside the network: what proposes, what classifies and places a region, and what a pyramid needs.

New layers start from N(0, 0.01), the boxes of regions from N(0, 0.001), as in Faster R-CNN; a pyramid's from He's
uniform distribution, as in torchvision.
"""

from collections.abc import Sequence

from torch import Tensor, nn

DEVIATION, BOX_DEVIATION = 0.01, 0.001


class ProposalHead(nn.Module):
    """At each step of a map, whether each anchor has an object, and where."""

    def __init__(self, in_width: int, width: int, anchors: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_width, width, 3, padding=1)
        self.objectness = nn.Conv2d(width, anchors, 1)
        self.boxes = nn.Conv2d(width, 4 * anchors, 1)
        for layer in (self.conv, self.objectness, self.boxes):
            _fill(layer, DEVIATION)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits (images, steps x anchors) and codes (images, steps x anchors, 4), row by row."""
        x = self.conv(x).relu_()
        logits, codes = (layer(x).permute(0, 2, 3, 1).float() for layer in (self.objectness, self.boxes))
        return logits.flatten(1), codes.reshape(x.shape[0], -1, 4)


class RegionOutputs(nn.Module):
    """The sibling layers of a region: a score for each class and background, which is first, and a box for each."""

    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        self.scores = nn.Linear(width, classes + 1)
        self.boxes = nn.Linear(width, 4 * (classes + 1))
        _fill(self.scores, DEVIATION)
        _fill(self.boxes, BOX_DEVIATION)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits (regions, classes + 1) and codes (regions, classes + 1, 4)."""
        return self.scores(x).float(), self.boxes(x).float().unflatten(1, (-1, 4))


class TwoLayers(nn.Module):
    """Two fully-connected layers on a region's map, as a pyramid has them."""

    def __init__(self, in_width: int, width: int) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(in_width, width), nn.Linear(width, width)
        for layer in (self.fc1, self.fc2):
            nn.init.kaiming_uniform_(layer.weight, a=1)
            nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc2(self.fc1(x.flatten(1)).relu_()).relu_()


class Pyramid(nn.Module):
    """Maps of one width at every stage's size, each with what the coarser ones know, and one coarser still."""

    def __init__(self, in_widths: Sequence[int], width: int) -> None:
        super().__init__()
        self.lateral = nn.ModuleList(nn.Conv2d(each, width, 1) for each in in_widths)
        self.output = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in in_widths)
        for layer in (*self.lateral, *self.output):
            nn.init.kaiming_uniform_(layer.weight, a=1)  # pyright: ignore[reportArgumentType]
            nn.init.zeros_(layer.bias)  # pyright: ignore[reportArgumentType]

    def forward(self, maps: Sequence[Tensor]) -> list[Tensor]:
        """Return the maps from the finest on; the last has every other pixel of the one before."""
        merged: list[Tensor] = []
        for layer, x in zip(reversed(self.lateral), reversed(maps), strict=True):
            x = layer(x)
            if merged:
                x = x + nn.functional.interpolate(merged[0], size=x.shape[-2:], mode="nearest")
            merged.insert(0, x)
        outputs = [layer(x) for layer, x in zip(self.output, merged, strict=True)]
        return [*outputs, outputs[-1][:, :, ::2, ::2]]


def _fill(layer: nn.Linear | nn.Conv2d, deviation: float) -> None:
    nn.init.normal_(layer.weight, std=deviation)
    assert layer.bias is not None
    nn.init.zeros_(layer.bias)
