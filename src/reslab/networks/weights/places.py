"""The places of a network that foreign formats have names for: stem, block layers, projections, classifier."""

import re
from dataclasses import dataclass
from typing import Literal

COUNTER = "num_batches_tracked"  # of a normalization; formats without have no place for it
PATTERN = re.compile(
    r"(?:stem|blocks\.conv(?P<stage>\d+)_(?P<block>\d+)\.(?:layers\.(?P<layer>\d+)|(?P<shortcut>shortcut)))"
    r"\.(?P<operator>conv|norm)\.(?P<leaf>\w+)"
)


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a tensor belongs, counted as the paper counts: stages from conv2, blocks and layers from 1."""

    part: Literal["stem", "layer", "projection", "classifier"]
    operator: Literal["conv", "norm", "fc"]
    leaf: str
    stage: int = 1
    block: int = 1
    layer: int = 1


def parse_place(key: str) -> Place | None:
    """Return the place one of our parameter names stands for, or None if no foreign format has it."""
    if key.startswith("classifier."):
        return Place(part="classifier", operator="fc", leaf=key.removeprefix("classifier."))
    match = PATTERN.fullmatch(key)
    if match is None:
        return None
    in_block = "projection" if match["shortcut"] else "layer"
    return Place(
        part=in_block if match["stage"] else "stem",
        operator="conv" if match["operator"] == "conv" else "norm",
        leaf=match["leaf"],
        stage=int(match["stage"] or 1),
        block=int(match["block"] or 1),
        layer=int(match["layer"] or 0) + 1,
    )
