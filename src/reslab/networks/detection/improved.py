"""Detection with the improvements of the paper's appendix B: refinement, several scales, several networks."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from torch import Tensor

from reslab.networks.detection.detector import Detector
from reslab.networks.detection.refinement import Judge, refine, vote
from reslab.networks.detection.selection import select
from reslab.networks.detection.several_scales import judge_at_scales
from reslab.networks.detection.union import judge_together, unite


@dataclass(frozen=True, kw_only=True)
class Improvements:
    """How tests look twice.

    `rounds` are how often regions are cut out again, `voting` how much a box must overlap another to vote for it (0 for
    no votes), and `factors` by how much images are resized for a look at regions (none: not at all).
    """

    rounds: int = 0
    voting: float = 0.0
    factors: tuple[float, ...] = ()

    @property
    def work(self) -> float:
        """About how many plain tests take as long: by the pixels of all sizes, and the rounds of regions."""
        return (1 + sum(factor**2 for factor in self.factors)) * (1 + self.rounds)


def detect(detectors: Sequence[Detector], images: Tensor, targets: Tensor, improvements: Improvements) -> Tensor:
    """Return the detections (images, kept, 6) of one detector or of several, as `Detector` does.

    Thresholds are the first one's.
    """
    frames, plan = targets[:, 0, :4], detectors[0].plan
    judges: list[Judge] = []
    proposals = []
    for detector in detectors:
        maps, proposed = detector.propose(images, frames)
        proposals.append(proposed)
        if improvements.factors:
            judges.append(judge_at_scales(detector, images, improvements.factors))
        else:
            judges.append(partial(detector.judge, maps))
    judgement, valid = refine(judge_together(judges), unite(proposals), frames, rounds=improvements.rounds)
    rows = select(judgement, valid, plan)
    return vote(rows, judgement, valid, plan, overlap=improvements.voting) if improvements.voting else rows
