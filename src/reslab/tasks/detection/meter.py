"""What a detector finds in test images, every image exactly once, and how good that is.

Boxes come in the pixels of the network's input and are kept in those of the stored image, as its frame says
(spec/boxes.py). An image with a detection that is not finite has found nothing, and is counted: whoever shows scores
refuses them then.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reslab.errors import UserError
from reslab.runtime.processes import Processes
from reslab.spec.boxes import (
    ABSENT,
    AREA,
    BOTTOM,
    CLASS,
    COLUMNS,
    DETECTION_COLUMNS,
    FOUND,
    FRAME,
    HEIGHT,
    LEFT,
    MARK,
    RIGHT,
    SCORE,
    TOP,
    WIDTH,
)
from reslab.tasks.detection import scores
from reslab.tasks.detection.coco_rules import CocoPrecision
from reslab.tasks.detection.interval import Bootstrap
from reslab.tasks.detection.rows import Detections, ImageSet, Objects, Rows, join
from reslab.tasks.detection.voc_rules import VocPrecision, mean

WAITING = 8  # batches that the host does not look at yet, so that it need not wait for the device
BOX = slice(LEFT, BOTTOM + 1)
DECIMALS = 4  # of curves


@dataclass(frozen=True)
class DetectionScores:
    """How a detector did; each number is computed once someone asks for it."""

    tested: ImageSet
    not_finite: int = 0

    @property
    def images(self) -> int:
        """How many images were scored."""
        return self.tested.images

    @cached_property
    def voc(self) -> VocPrecision:
        """VOC's numbers."""
        return VocPrecision.measure(self.tested)

    @cached_property
    def coco(self) -> CocoPrecision:
        """COCO's numbers."""
        return CocoPrecision.measure(self.tested)

    @property
    def above_chance(self) -> float:
        """How far the precision is from chance, by which hardly any box is right, to the truth (1)."""
        return mean(self.voc.area) or 0.0

    def logged(self) -> dict[str, float]:
        """Return what a log has of a test."""
        return {score.name: value for score, value in self._list_means().items() if score.logged and value is not None}

    def recorded(self) -> dict[str, Any]:
        """Return all of it as plain data; intervals take seconds where images are thousands."""
        draws = Bootstrap(images=self.images)
        intervals = {
            scores.MAP50: draws.find_interval(self.voc.rankings, "area"),
            scores.MAP: draws.find_interval(self.coco.rankings, "101 points"),
        }
        curves = [None if curve is None else curve.round(DECIMALS).tolist() for curve in self.voc.curves]
        return {
            **{score.name: value for score, value in self._list_means().items()},
            **{scores.INTERVALS[score]: [100 * end for end in ends] for score, ends in intervals.items()},
            scores.PRECISIONS_50: [_percent(one) for one in self.voc.area],
            scores.PRECISIONS_11: [_percent(one) for one in self.voc.eleven],
            scores.PRECISIONS: [_percent(one) for one in self.coco.by_class],
            scores.OBJECTS: [len(ranking.sought) for ranking in self.voc.rankings],
            scores.CURVES: curves,
        }

    def _list_means(self) -> dict[scores.Score, float | None]:
        means = {scores.MAP50: mean(self.voc.area), scores.ELEVEN: mean(self.voc.eleven)}
        means |= {scores.COCO[name]: value for name, value in self.coco.numbers.items()}
        return {score: _percent(means[score]) for score in scores.SCORES}


class DetectionMeter:
    """The objects and detections of test images, as rows of the host's memory."""

    def __init__(self, *, classes: int) -> None:
        self.classes = classes
        self.clear()

    def clear(self) -> None:
        """Keep nothing, and begin again."""
        self.images = self.not_finite = 0
        self.parts: list[tuple[Objects, Detections]] = []
        self.waiting: list[tuple[Tensor, Tensor, torch.cuda.Event | None]] = []

    @torch.no_grad()
    def add(self, outputs: Tensor, targets: Tensor) -> None:
        """Keep a batch: detections (images, rows, 6) and targets (images, rows, 7)."""
        event = None
        here = [tensor.detach().to("cpu", non_blocking=True) for tensor in (outputs, targets)]
        if outputs.is_cuda:
            event = torch.cuda.Event()
            event.record()
        self.waiting.append((here[0], here[1], event))
        if len(self.waiting) > WAITING:
            self._keep(*self.waiting.pop(0))

    def merge(self, processes: Processes) -> None:
        """Keep what other processes have kept too, by their ranks."""
        objects, detections = self._join()
        everyones = processes.ask_all((self.images, self.not_finite, objects, detections))
        self.clear()
        for images, not_finite, objects, detections in everyones:
            self.parts.append((_shift(objects, self.images), _shift(detections, self.images)))
            self.images += images
            self.not_finite += not_finite

    def read(self) -> DetectionScores:
        """Wait for the device and return the scores."""
        objects, detections = self._join()
        if not self.images:
            raise UserError("none of the test images can be read; replace them")
        if not objects.plain.any():
            raise UserError("no test image has an object to find, so there is no precision; test on other images")
        found = ImageSet.in_order(images=self.images, classes=self.classes, objects=objects, detections=detections)
        return DetectionScores(found, self.not_finite)

    def _join(self) -> tuple[Objects, Detections]:
        """Keep what waits, and return all rows."""
        for outputs, targets, event in self.waiting:
            self._keep(outputs, targets, event)
        self.waiting = []
        parts = [*self.parts, _read_batch(np.empty((0, 0, DETECTION_COLUMNS)), np.empty((0, 1, COLUMNS)))[:2]]
        joined = join([objects for objects, _ in parts]), join([detections for _, detections in parts])
        self.parts = [joined]
        return joined

    def _keep(self, outputs: Tensor, targets: Tensor, event: torch.cuda.Event | None) -> None:
        if event is not None:
            event.synchronize()
        objects, detections, not_finite = _read_batch(outputs.double().numpy(), targets.double().numpy())
        self.parts.append((_shift(objects, self.images), _shift(detections, self.images)))
        self.images += len(targets)
        self.not_finite += not_finite


def _read_batch(outputs: NDArray[np.float64], targets: NDArray[np.float64]) -> tuple[Objects, Detections, int]:
    """Return the objects and detections of a batch in pixels as stored, and how many images have no finite ones."""
    frame = targets[:, 0]
    if (frame[:, CLASS] != FRAME).any():
        raise ValueError("the first row of an image's targets must be its frame")
    begin = np.tile(frame[:, [LEFT, TOP]], 2)
    scale = np.tile(frame[:, [WIDTH, HEIGHT]] / (frame[:, [RIGHT, BOTTOM]] - frame[:, [LEFT, TOP]]), 2)
    there = outputs[:, :, FOUND] != ABSENT
    bad = (there & ~np.isfinite(outputs).all(2)).any(1)
    image, row = np.nonzero(there & ~bad[:, None])
    found = outputs[image, row]
    detections = Detections(
        image=image,
        box=(found[:, BOX] - begin[image]) * scale[image],
        label=found[:, FOUND].astype(np.int64),
        score=found[:, SCORE],
    )
    image, row = np.nonzero(targets[:, :, CLASS] >= 0)
    known = targets[image, row]
    objects = Objects(
        image=image,
        box=(known[:, BOX] - begin[image]) * scale[image],
        label=known[:, CLASS].astype(np.int64),
        mark=known[:, MARK].astype(np.int64),
        area=known[:, AREA],
    )
    return objects, detections, int(bad.sum())


def _shift(rows: Rows, images: int) -> Rows:
    """Return rows of images that come after so many others."""
    return replace(rows, image=rows.image + images)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
