"""What the measurement of responses can be told; no torch."""

from dataclasses import dataclass

from reslab.analysis.settings import Settings
from reslab.spec.optimization import demand


@dataclass(frozen=True, kw_only=True)
class Responses(Settings):
    """How sure the standard deviations are to be told.

    Fields:
        confidence: That of the intervals, from 0 up to 1, both excluded.
        resamples: How many times the images are drawn anew for an interval.
    """

    confidence: float = 0.95
    resamples: int = 1000

    def __post_init__(self) -> None:
        super().__post_init__()
        demand(self, "", positive=("resamples",))
