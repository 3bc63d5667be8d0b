"""The objects of test images and the detections in them, as columns: a row each, image by image.

Boxes are left, top, right, bottom in pixels as stored, the edges of pixels (spec/boxes.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from reslab.spec.boxes import PLAIN

Rows = TypeVar("Rows", bound="Objects | Detections")


@dataclass(frozen=True, kw_only=True)
class Objects:
    """What there is to be found; `area` in pixels as stored, `mark` as in spec/boxes.py."""

    image: NDArray[np.int64]
    box: NDArray[np.float64]
    label: NDArray[np.int64]
    mark: NDArray[np.int64]
    area: NDArray[np.float64]

    @property
    def plain(self) -> NDArray[np.bool_]:
        """Which are missed if they are not found."""
        return self.mark == PLAIN


@dataclass(frozen=True, kw_only=True)
class Detections:
    """What was found."""

    image: NDArray[np.int64]
    box: NDArray[np.float64]
    label: NDArray[np.int64]
    score: NDArray[np.float64]

    @property
    def area(self) -> NDArray[np.float64]:
        """Of each box."""
        return measure_areas(self.box)


@dataclass(frozen=True, kw_only=True)
class ImageSet:
    """So many images and classes, with the rows of all images; `in_order` sorts them."""

    images: int
    classes: int
    objects: Objects
    detections: Detections

    @classmethod
    def in_order(cls, *, images: int, classes: int, objects: Objects, detections: Detections) -> Self:
        """Sort rows by image; those of one image stay in their order, which decides between equal scores."""
        for rows in (objects, detections):
            for name, column, most in (("image", rows.image, images), ("class", rows.label, classes)):
                if len(column) and not 0 <= column.min() <= column.max() < most:
                    raise ValueError(f"a row has {name} {column.max()}, but there are {most}, counted from 0")
        return cls(
            images=images,
            classes=classes,
            objects=take(objects, np.argsort(objects.image, kind="stable")),
            detections=take(detections, np.argsort(detections.image, kind="stable")),
        )


def take(rows: Rows, which: NDArray[np.integer] | NDArray[np.bool_]) -> Rows:
    """Return some of the rows, by their places or where a mask says so."""
    return type(rows)(**{column.name: getattr(rows, column.name)[which] for column in fields(rows)})


def join(parts: Sequence[Rows]) -> Rows:
    """Return the rows of all parts, of which there must be one at least."""
    names = [column.name for column in fields(parts[0])]
    return type(parts[0])(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


def measure_areas(box: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the area of each box."""
    return (box[:, 2] - box[:, 0]) * (box[:, 3] - box[:, 1])
