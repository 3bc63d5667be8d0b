"""The errors that were published of the weights the authors released, in percent, on all 50,000 validation images.

One crop is from the page of the release, ten crops and several scales from Tables 3 and 4.
"""

from collections.abc import Mapping
from dataclasses import dataclass

VALIDATION_IMAGES = 50_000


@dataclass(frozen=True, kw_only=True)
class ReleasedTest:
    """A protocol, the errors published for it by metric, and where."""

    network: str = "resnet-50"
    weights: str = "imagenet"
    protocol: str
    published: Mapping[str, float]
    source: str


def _errors(top1: float, top5: float) -> dict[str, float]:
    return {"error_percent": top1, "top5_error_percent": top5}


RELEASED_TESTS = (
    ReleasedTest(protocol="1-crop", published=_errors(24.7, 7.8), source="the authors' page"),
    ReleasedTest(protocol="10-crop", published=_errors(22.85, 6.71), source="Table 3"),
    ReleasedTest(protocol="multi-scale", published=_errors(20.74, 5.25), source="Table 4"),
)
