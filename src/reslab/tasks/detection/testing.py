"""How detectors are tested: on whole images, at one scale or at several, with boxes refined or not (appendix B)."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from reslab.data.objects.feed import TESTED_TOGETHER
from reslab.data.objects.fitting import Fitting
from reslab.errors import UserError
from reslab.networks.detection.detector import Detector
from reslab.networks.detection.improved import Improvements, detect
from reslab.networks.detection.several_scales import SIDES
from reslab.networks.inference import Served
from reslab.runtime.execution import FAST
from reslab.tasks.detection.showing import show_whole, to_stored

if TYPE_CHECKING:
    from reslab.tasks.subject import Subject

ROUNDS, VOTING = 1, 0.5
REFERENCE_SIDE = 600  # what the paper's scales belong to
SCALES = tuple(side / REFERENCE_SIDE for side in SIDES)
TOGETHER = {"cuda": TESTED_TOGETHER}  # images, as in trainings; on a CPU one keeps all cores busy
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
        self.members, self.improvements = members, PROTOCOLS[protocol]
        self.execution = FAST if precision == "bf16" else members[0].execution
        self.detectors = [_as_detector(member) for member in members]
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
        stored = [image for group in images for image in group]
        rows: dict[int, list[Tensor]] = {}
        for numbers in self._group(stored):
            found = self._judge_if_fits([stored[number] for number in numbers])
            rows |= {number: [each[place] for each in found] for place, number in enumerate(numbers)}
        columns = [torch.stack(column) for column in zip(*(rows[number] for number in range(len(stored))), strict=True)]
        return columns[:-1], columns[-1]

    def _group(self, stored: Sequence[Tensor]) -> Iterator[list[int]]:
        """Yield the numbers of images that are shown in one shape, a few at a time."""
        shapes = [self.fittings[0].find_shape(image.shape[2], image.shape[1]) for image in stored]
        most = TOGETHER.get(stored[0].device.type, 1)
        for shape in sorted({*shapes}):
            numbers = [number for number, one in enumerate(shapes) if one == shape]
            yield from (numbers[first : first + most] for first in range(0, len(numbers), most))

    def _judge_if_fits(self, stored: Sequence[Tensor]) -> list[Tensor]:
        """Return the same as `_judge`, one image at a time where the device has no room for all."""
        try:
            return self._judge(stored)
        except torch.OutOfMemoryError as error:
            if len(stored) == 1:
                raise UserError(
                    "one image takes more memory than the device has free; test with protocol=1-scale or precision=bf16"
                ) from error
        singles = [self._judge_if_fits([image]) for image in stored]  # after the error, which holds what was allocated
        return [torch.cat(column) for column in zip(*singles, strict=True)]

    def _judge(self, stored: Sequence[Tensor]) -> list[Tensor]:
        """Return the detections of each detector in images shown in one shape, and those of all together."""
        first = self.members[0]
        shown = [
            show_whole(image[None], self.fittings[0], first.preprocess, brightest=first.brightest) for image in stored
        ]
        prepared, targets = map(torch.cat, zip(*shown, strict=True))
        prepared = self.execution.prepare(prepared)
        groups = [[detector] for detector in self.detectors]
        groups += [self.detectors] if len(self.detectors) > 1 else []
        with self.execution.autocast(prepared.device.type):
            found = [to_stored(detect(group, prepared, targets, self.improvements), targets) for group in groups]
        return found if len(groups) > 1 else found * 2


def _sides(subject: "Subject") -> tuple[int, int]:
    sides = subject.network.task.sides
    assert sides is not None
    return sides


def _as_detector(subject: "Subject") -> Detector:
    assert isinstance(subject.network, Detector)
    return subject.network
