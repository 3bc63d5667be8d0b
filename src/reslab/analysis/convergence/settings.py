"""What can be told to the instrument of convergence; no torch."""

from dataclasses import dataclass

from reslab.analysis.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Convergence(Settings):
    """How laws are fitted to the curves of training.

    Fields:
        skip: The first part of each phase that is left out: what happens right after a change of the rate.
        least: Tests that a phase must have.
        block: Neighbouring tests that the bootstrap keeps together.
        resamples: How often it fits again.
        reach: The training error to be reached, in percent. 0: none.
        confidence: Of the intervals.
    """

    skip: float = 0.1
    least: int = 8
    block: int = 4
    resamples: int = 500
    reach: float = 0.0
    confidence: float = 0.95
