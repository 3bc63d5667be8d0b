"""What can be told to the instrument of convergence; no torch."""

from dataclasses import dataclass

from reslab.analysis.settings import Settings
from reslab.errors import UserError
from reslab.spec.optimization import demand


@dataclass(frozen=True, kw_only=True)
class Convergence(Settings):
    """How laws are fitted to the curves of a training.

    Fields:
        against: A run in the same folder. When would this one come down to where that one is at the end of each phase?
        reach: A training score to come down to instead, such as 5 for an error of 5 %. 0: none.
        skip: The first part of each phase that is left out: what happens right after a change of the rate.
        least: Tests that a phase must have.
        block: Neighbouring tests that the bootstrap keeps together.
        resamples: How often it fits again.
        confidence: Of the intervals.
    """

    against: str = ""
    reach: float = 0.0
    skip: float = 0.1
    least: int = 8
    block: int = 4
    resamples: int = 500
    confidence: float = 0.95

    def __post_init__(self) -> None:
        super().__post_init__()
        demand(
            self,
            "",
            least={"reach": 0, "skip": 0},
            positive=(
                "least",
                "block",
                "resamples",
            ),
        )
        for field in ("confidence", "skip"):
            if (value := getattr(self, field)) >= 1:
                raise UserError(f"{field} is {value:g}; it must be below 1")
        if self.reach and self.against:
            raise UserError("reach and against both say what is to be reached; give one of them")
        if self.images or self.on != "test":
            raise UserError("convergence reads the log of a training; leave out images= and on=")
