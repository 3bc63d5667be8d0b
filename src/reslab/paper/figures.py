"""What the curves of Figs. 1, 4, 6 and 7 show, read off the plots unless the text prints the number.

Errors in percent, read to about 0.1 point on CIFAR-10 and 0.3 on ImageNet (Fig. 4); standard deviations of responses,
read to about 0.05.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

ERROR_READ_TO, IMAGENET_READ_TO, RESPONSE_READ_TO = 0.1, 0.3, 0.05


@dataclass(frozen=True, kw_only=True)
class Curve:
    """An error over iterations: `at` some of them, and where it `ends`.

    The end is a mean: over iterations 50k to 64k on CIFAR-10, over 500k to 540k on ImageNet.
    """

    network: str
    images: Literal["train", "test"]
    at: Mapping[int, float] = field(default_factory=dict)
    ends: float
    relation: Literal["near", "below", "above"] = "near"
    in_text: bool = False


def _readings(*errors: float) -> dict[int, float]:
    """Return what was read off Fig. 4, by the iteration it was read at."""
    return dict(zip((100_000, 140_000, 200_000, 290_000, 350_000), errors, strict=True))


# The rate drops at 32k: one reading just before it, one soon after.
FIGURE_1 = (
    Curve(network="plain-20", images="train", at={32_000: 9.1, 34_000: 3.7, 50_000: 1.3}, ends=1.3),
    Curve(network="plain-56", images="train", at={32_000: 17.8, 34_000: 10.2, 50_000: 5.7}, ends=5.8),
    Curve(network="plain-20", images="test", at={32_000: 12.8, 34_000: 10.0, 50_000: 10.0}, ends=9.7),
    Curve(network="plain-56", images="test", at={32_000: 18.5, 34_000: 14.3, 50_000: 13.3}, ends=13.3),
)

# The bold curves: centre crops of the validation images. The rate drops at 150k and 300k.
FIGURE_4 = (
    Curve(network="plain-18", images="test", at=_readings(50.6, 50.0, 36.6, 36.6, 32.3), ends=31.4),
    Curve(network="plain-34", images="test", at=_readings(55.1, 55.0, 39.0, 38.8, 33.4), ends=32.5),
    Curve(network="resnet-18", images="test", at=_readings(47.6, 47.0, 35.7, 35.5, 31.6), ends=31.0),
    Curve(network="resnet-34", images="test", at=_readings(44.9, 44.4, 32.3, 32.5, 28.6), ends=28.3),
)

FIGURE_6 = (
    Curve(network="plain-20", images="train", ends=1.3),
    Curve(network="plain-32", images="train", ends=1.5),
    Curve(network="plain-44", images="train", ends=2.7),
    Curve(network="plain-56", images="train", ends=5.7),
    Curve(network="plain-20", images="test", at={32_000: 12.6}, ends=9.7),
    Curve(network="plain-32", images="test", at={32_000: 14.1}, ends=10.1),
    Curve(network="plain-44", images="test", at={32_000: 16.2}, ends=11.4),
    Curve(network="plain-56", images="test", at={32_000: 18.2}, ends=13.3),
    Curve(network="plain-110", images="test", ends=60.0, relation="above", in_text=True),
    Curve(network="resnet-20", images="train", ends=0.7),
    Curve(network="resnet-32", images="train", ends=0.3),
    Curve(network="resnet-44", images="train", ends=0.25),
    Curve(network="resnet-56", images="train", ends=0.2, relation="below"),
    Curve(network="resnet-110", images="train", ends=0.2, relation="below"),
    Curve(network="resnet-1202", images="train", ends=0.1, relation="below", in_text=True),
    Curve(network="resnet-20", images="test", ends=8.8),
    Curve(network="resnet-32", images="test", ends=7.5),
    Curve(network="resnet-44", images="test", ends=7.2),
    Curve(network="resnet-56", images="test", ends=7.05),
    Curve(network="resnet-110", images="test", ends=6.6),
    Curve(network="resnet-1202", images="test", ends=7.9),
)

# The lower panel: standard deviations of the layers' responses, by their rank in descending order. The largest of
# plain-56 is left out: there the curves merge (2.4 to 3.0).
FIGURE_7: dict[str, dict[int, float]] = {
    "plain-20": {1: 2.5, 5: 2.0, 10: 1.85, 18: 1.45},
    "resnet-20": {1: 2.3, 5: 1.8, 10: 1.55, 18: 1.17},
    "plain-56": {5: 2.2, 10: 2.0, 18: 1.8, 30: 1.2, 50: 1.0},
    "resnet-56": {1: 3.0, 5: 1.5, 10: 1.3, 18: 1.2, 30: 1.06, 50: 0.8, 55: 0.65},
    "resnet-110": {1: 3.3, 5: 1.4, 10: 1.25, 18: 1.12, 30: 1.01, 50: 0.93, 80: 0.84, 108: 0.67},
}
