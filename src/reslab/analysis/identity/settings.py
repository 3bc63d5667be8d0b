"""What can be told to the instrument of identity; no torch."""

from dataclasses import dataclass
from typing import Literal

from reslab.analysis.settings import Settings
from reslab.spec.optimization import demand


@dataclass(frozen=True, kw_only=True)
class Identity(Settings):
    """How blocks are compared with the identity.

    Fields:
        linear: Fit the best linear map of channels to what each block changes.
        norms: What batch normalization uses: its own statistics (`fixed`), or those of each `batch`.
        batch: Images in a batch.
        confidence: Of the intervals.
    """

    linear: bool = True
    norms: Literal["fixed", "batch"] = "fixed"
    batch: int = 100
    confidence: float = 0.95

    def __post_init__(self) -> None:
        super().__post_init__()
        demand(self, "", positive=("batch",))
