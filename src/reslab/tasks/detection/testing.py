"""How detectors are tested: on whole images, at one scale or at several, with boxes refined or not (appendix B)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from reslab.data.objects.fitting import Fitting
from reslab.errors import UserError
from reslab.networks.detection.detector import Detector
from reslab.networks.detection.improved import Improvements, detect
from reslab.networks.detection.several_scales import SIDES
from reslab.networks.inference import Served
from reslab.tasks.detection.showing import show_whole, to_stored

if TYPE_CHECKING:
    from reslab.tasks.subject import Subject

ROUNDS, VOTING = 1, 0.5
REFERENCE_SIDE = 600  # what the paper's scales belong to
SCALES = tuple(side / REFERENCE_SIDE for side in SIDES)
PROTOCOLS = {
    "1-scale": Improvements(),
    "refined": Improvements(rounds=ROUNDS, voting=VOTING),
    "several-scales": Improvements(factors=SCALES),
    "refined-several-scales": Improvements(rounds=ROUNDS, voting=VOTING, factors=SCALES),
}


class DetectionBench:
    """Detectors that look at the same images."""

    most_images = 8

    def __init__(self, members: Sequence["Subject"], *, protocol: str, precision: Served) -> None:
        if precision != "fp32":
            raise UserError(f"precision={precision} is for classifiers; leave it out to test detectors in float32")
        self.members, self.improvements = members, PROTOCOLS[protocol]
        self.fittings = [Fitting(*_sides(member)) for member in members]
        if len({*self.fittings}) > 1 or len({member.preprocess for member in members}) > 1:
            raise UserError(
                "these detectors are shown images in different ways, so they are no ensemble; test them one by one"
            )

    def describe(self) -> list[dict[str, Any]]:
        """Say how images are prepared, and how large they are shown."""
        sides = [[round(factor * one.shorter) for factor in self.improvements.factors] for one in self.fittings]
        return [
            {"preprocess": member.preprocess.describe(), "shorter_sides": shown or [one.shorter]}
            for member, one, shown in zip(self.members, self.fittings, sides, strict=True)
        ]

    @torch.no_grad()
    def judge(self, images: Sequence[Tensor], question: int) -> tuple[list[Tensor], Tensor]:
        """Return the detections of each detector and of all together (images, kept, 6), in pixels as stored."""
        rows = [self._judge(image[None]) for group in images for image in group]
        columns = [torch.cat(column) for column in zip(*rows, strict=True)]
        return columns[:-1], columns[-1]

    def _judge(self, image: Tensor) -> list[Tensor]:
        """Return the detections of each detector in one image, and those of all together."""
        first = self.members[0]
        prepared, targets = show_whole(image, self.fittings[0], first.preprocess, brightest=first.brightest)
        prepared = first.execution.prepare(prepared)
        detectors = [_as_detector(member) for member in self.members]
        groups = [[detector] for detector in detectors] + ([detectors] if len(detectors) > 1 else [])
        found = [to_stored(detect(group, prepared, targets, self.improvements), targets) for group in groups]
        return found if len(detectors) > 1 else found * 2


def _sides(subject: "Subject") -> tuple[int, int]:
    sides = subject.network.task.sides
    assert sides is not None
    return sides


def _as_detector(subject: "Subject") -> Detector:
    assert isinstance(subject.network, Detector)
    return subject.network
