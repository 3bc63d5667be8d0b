"""What can be told to the instrument of identity; no torch."""

from dataclasses import dataclass
from typing import Literal

from reslab.analysis.settings import Settings
from reslab.errors import UserError
from reslab.spec.optimization import demand


@dataclass(frozen=True, kw_only=True)
class Identity(Settings):
    """How blocks are compared with the identity.

    Fields:
        linear: Fit the best linear map of channels to what each block changes.
        norms: What batch normalization uses: its own statistics (`fixed`), or those of each `batch`.
        batch: Images in a batch.
        confidence: Of the intervals.
        since: Also how far weights and outputs have gone from those of this snapshot of the run; 0 is its start.
    """

    linear: bool = True
    norms: Literal["fixed", "batch"] = "fixed"
    batch: int = 100
    confidence: float = 0.95
    since: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        demand(self, "", positive=("batch",))
        if self.since is not None and self.since < 0:
            raise UserError(f"since is {self.since}; give the step of a snapshot, 0 for the start of the run")
