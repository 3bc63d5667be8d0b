"""Made-up objects with detections of them, good and bad: crowds, difficult ones, equal scores, images without any."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from reslab.spec.boxes import CROWD, DIFFICULT, PLAIN
from reslab.tasks.detection.rows import Detections, ImageSet, Objects, measure_areas

SIDE = 200  # of all images


def make_tested(
    seed: int,
    *,
    images: int = 12,
    classes: int = 3,
    objects: int = 40,
    detections: int = 150,
    marks: tuple[int, ...] = (PLAIN, PLAIN, PLAIN, PLAIN, CROWD),
    levels: int = 20,
) -> ImageSet:
    """Make a test set; most detections are near an object, scores have so many `levels`, corners are quarter pixels."""
    random = np.random.default_rng(seed)
    corner = random.integers(0, SIDE - 20, (objects, 2)) + random.integers(0, 4, (objects, 2)) / 4
    box = np.concatenate([corner, corner + random.choice([9.0, 32.0, 40.25, 96.0, 130.5], (objects, 2))], 1)
    there = Objects(
        image=random.integers(0, images, objects),
        box=box,
        label=random.integers(0, max(1, classes - 1), objects),
        mark=random.choice(marks, objects),
        area=measure_areas(box) * random.choice([1.0, 1.0, 0.6], objects),
    )
    near = random.integers(0, max(objects, 1), detections)
    shift = random.choice([0.0, 0.25, 1.0, 3.0, 8.0], (detections, 4)) * random.choice([-1, 1], (detections, 4))
    stray = random.random(detections) < 0.2 if objects else np.ones(detections, bool)
    somewhere = random.integers(0, SIDE - 20, (detections, 2)).astype(float)
    found: np.ndarray = np.concatenate([somewhere, somewhere + random.integers(1, 60, (detections, 2))], 1)
    image, label = random.integers(0, images, detections), random.integers(0, classes, detections)
    if objects:
        moved = there.box[near] + np.where(there.box[near][:, 2:].min(1)[:, None] > 0, shift, 0)
        moved[:, 2:] = np.maximum(moved[:, 2:], moved[:, :2] + 0.25)
        found = np.where(stray[:, None], found, moved)
        image, label = np.where(stray, image, there.image[near]), np.where(stray, label, there.label[near])
    told = Detections(
        image=image,
        box=found,
        label=label,
        score=random.integers(1, levels + 1, detections) / levels,
    )
    return ImageSet.in_order(images=images, classes=classes, objects=there, detections=told)


def make_image(
    objects: Sequence[tuple[tuple[float, ...], int]], detections: Sequence[tuple[tuple[float, ...], float]]
) -> ImageSet:
    """One image of one class: objects with their marks, detections with their scores."""
    box = np.array([one for one, _ in objects], float).reshape(-1, 4)
    none = np.zeros(len(objects), int)
    mark = np.array([mark for _, mark in objects], int)
    area = (box[:, 2] - box[:, 0]) * (box[:, 3] - box[:, 1])
    return ImageSet.in_order(
        images=1,
        classes=1,
        objects=Objects(image=none, box=box, label=none, mark=mark, area=area),
        detections=Detections(
            image=np.zeros(len(detections), int),
            box=np.array([one for one, _ in detections], float).reshape(-1, 4),
            label=np.zeros(len(detections), int),
            score=np.array([score for _, score in detections], float),
        ),
    )


WITH_DIFFICULT = (PLAIN, PLAIN, DIFFICULT)


@st.composite
def small_tests(draw: st.DrawFn, marks: tuple[int, ...] = WITH_DIFFICULT) -> ImageSet:
    """Draw few objects and detections, so that all kinds of ties and empty images come."""
    return make_tested(
        draw(st.integers(0, 2**32 - 1)),
        images=draw(st.integers(1, 4)),
        classes=draw(st.integers(1, 3)),
        objects=draw(st.integers(0, 12)),
        detections=draw(st.integers(0, 30)),
        marks=marks,
        levels=draw(st.integers(1, 30)),
    )
