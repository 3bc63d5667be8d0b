"""Detections and targets as networks and data give them become rows of stored pixels, every image once."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from tests.detections import SIDE, make_tested
from tests.processes import run_in_processes

from reslab.errors import UserError
from reslab.json_text import to_json
from reslab.runtime.processes import ALONE, Processes
from reslab.spec.boxes import ABSENT, COLUMNS, CROWD, DETECTION_COLUMNS, FRAME, PLAIN
from reslab.tasks.detection import scores
from reslab.tasks.detection.coco_rules import CocoPrecision
from reslab.tasks.detection.meter import DetectionMeter, DetectionScores
from reslab.tasks.detection.rows import ImageSet
from reslab.tasks.detection.scores import BY_CLASS, COCO, CURVES, INTERVALS, LARGE, MAP, MAP50, SCORES
from reslab.tasks.detection.voc_rules import VocPrecision, mean

IMAGES = 11


def as_batches(tested: ImageSet, *, resized: int, size: int = 4) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Return what a network is given and gives, in the pixels of its input; room is left over in every batch."""
    objects, detections = tested.objects, tested.detections
    scale = resized / SIDE
    batches = []
    for first in range(0, tested.images, size):
        chosen = range(first, min(first + size, tested.images))
        most = max((objects.image == image).sum() for image in chosen) + 3
        kept = max((detections.image == image).sum() for image in chosen) + 2
        targets = torch.full((len(chosen), most, COLUMNS), float(ABSENT))
        outputs = torch.full((len(chosen), kept, DETECTION_COLUMNS), float(ABSENT))
        for place, image in enumerate(chosen):
            targets[place, 0] = torch.tensor([0, 0, resized, resized, FRAME, SIDE, SIDE])
            here = np.flatnonzero(objects.image == image)
            columns = [objects.box[here] * scale, objects.label[here], objects.mark[here], objects.area[here]]
            targets[place, 1 : len(here) + 1] = torch.from_numpy(np.column_stack(columns))
            here = np.flatnonzero(detections.image == image)
            columns = [detections.box[here] * scale, detections.score[here], detections.label[here]]
            outputs[place, : len(here)] = torch.from_numpy(np.column_stack(columns))
        batches.append((outputs, targets))
    return batches


def fill(tested: ImageSet, *, resized: int = 2 * SIDE) -> DetectionMeter:
    meter = DetectionMeter(classes=tested.classes)
    for outputs, targets in as_batches(tested, resized=resized):
        meter.add(outputs, targets)
    return meter


def make(seed: int = 0, **sizes: int) -> ImageSet:
    return make_tested(seed, images=IMAGES, marks=(PLAIN, PLAIN, CROWD), levels=256, **sizes)


@pytest.mark.parametrize("resized", [SIDE, 2 * SIDE, SIDE // 2])
def test_rows_are_those_of_the_stored_images(resized: int) -> None:
    """Whatever the size of the network's input; images without rows count too."""
    tested = make()
    read = fill(tested, resized=resized).read()
    assert read.images == IMAGES
    for ours, theirs in ((read.tested.objects, tested.objects), (read.tested.detections, tested.detections)):
        for name, values in vars(theirs).items():
            np.testing.assert_allclose(getattr(ours, name), values, rtol=1e-6, err_msg=name)


def test_sides_are_scaled_each_by_its_own() -> None:
    """As the frame says: 100 x 50 stored pixels were shown as 200 x 200."""
    meter = DetectionMeter(classes=1)
    target = torch.tensor([[[0, 0, 200, 200, FRAME, 100, 50], [20, 40, 60, 80, 0, PLAIN, 200]]]).float()
    meter.add(torch.tensor([[[20, 40, 60, 80, 0.5, 0]]]).float(), target)
    read = meter.read()
    assert read.tested.objects.box.tolist() == read.tested.detections.box.tolist() == [[10, 10, 30, 20]]
    assert read.tested.objects.area.tolist() == [200]
    assert read.logged() == {MAP50.name: 100.0, MAP.name: pytest.approx(100.0)}
    assert read.above_chance == 1


def test_what_is_recorded_is_what_voc_and_coco_say() -> None:
    """In percent, under the names of the scores; plain data that JSON has."""
    tested = make(classes=4)
    recorded = fill(tested).read().recorded()
    voc, coco = VocPrecision.measure(tested), CocoPrecision.measure(tested)
    assert recorded[MAP50.name] == pytest.approx(100 * (mean(voc.area) or 0))
    for name, value in coco.numbers.items():
        assert recorded[COCO[name].name] == (None if value is None else pytest.approx(100 * value))
    assert recorded.keys() == {score.name for score in SCORES} | {*INTERVALS.values(), *BY_CLASS, *LARGE}
    for name in (*BY_CLASS, CURVES):
        assert len(recorded[name]) == 4
    assert recorded[scores.PRECISIONS_50][3] is recorded[CURVES][3] is None
    assert recorded[scores.OBJECTS] == np.bincount(tested.objects.label[tested.objects.plain], minlength=4).tolist()
    for score, name in INTERVALS.items():
        low, high = recorded[name]
        assert 0 <= low < high <= 100
        assert low - 20 < recorded[score.name] < high + 20
    assert {len(curve) for curve in recorded[CURVES] if curve} == {101}
    assert "NaN" not in to_json(recorded)


def test_many_batches_are_kept_and_cleared() -> None:
    """Also those that the host has not looked at yet."""
    tested = make()
    meter = fill(tested)
    once = meter.read()
    meter.clear()
    for outputs, targets in as_batches(tested, resized=SIDE, size=1):
        meter.add(outputs, targets)
    again = meter.read()
    assert once.images == again.images == IMAGES
    assert once.logged() == pytest.approx(again.logged(), abs=1e-4)


def test_an_image_without_numbers_has_found_nothing() -> None:
    """It is counted; rows of no class may hold anything."""
    tested = make()
    batches = as_batches(tested, resized=SIDE)
    outputs, targets = batches[0]
    outputs[1, 0, 2] = math.nan
    outputs[2, 0, 5] = math.inf
    outputs[0, -1, 0] = math.nan  # of class ABSENT
    meter = DetectionMeter(classes=3)
    meter.add(outputs, targets)
    read = meter.read()
    assert (read.images, read.not_finite) == (4, 2)
    assert set(read.tested.detections.image.tolist()) == {0, 3}
    assert set(read.tested.objects.image.tolist()) == {0, 1, 2, 3}


def score_a_share(processes: Processes) -> DetectionScores:
    """What a process scores that tests its share."""
    meter = DetectionMeter(classes=3)
    batches = as_batches(make(), resized=SIDE, size=1)
    for outputs, targets in batches[processes.share(len(batches))]:
        meter.add(outputs, targets)
    meter.merge(processes)
    return meter.read()


def test_processes_score_what_one_scores() -> None:
    """Every image once, in the same order, with as many decimals."""
    alone = score_a_share(ALONE).recorded()
    for scored in run_in_processes(score_a_share, 2):
        assert scored.recorded() == alone


def test_nothing_to_find_is_told() -> None:
    """There is no precision without an object, nor without an image."""
    with pytest.raises(UserError, match="none of the test images can be read"):
        DetectionMeter(classes=3).read()
    with pytest.raises(UserError, match="no test image has an object to find"):
        fill(make_tested(0, images=IMAGES, marks=(CROWD,))).read()


def test_targets_without_a_frame_are_a_mistake() -> None:
    """Of ours: sizes would be unknown."""
    meter = DetectionMeter(classes=3)
    meter.add(torch.zeros(1, 1, DETECTION_COLUMNS), torch.zeros(1, 1, COLUMNS))
    with pytest.raises(ValueError, match="must be its frame"):
        meter.read()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_device_is_not_waited_for() -> None:
    """What it computes is the same there."""
    tested = make()
    meter = DetectionMeter(classes=3)
    for outputs, targets in as_batches(tested, resized=2 * SIDE, size=1):
        meter.add(outputs.cuda(), targets.cuda())
    assert meter.read().logged() == fill(tested).read().logged()
