"""Objects as they are annotated become rows of numbers, as `spec.boxes` says; what is wrong with them is told.

A box that reaches over the edge of its image is cut off there: COCO and VOC have some that do, most by less than a
pixel. One without area is left out, for COCO has such too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from reslab.data.objects.annotations import Annotated, Annotations, Teller, Thing
from reslab.data.objects.sizes import UNKNOWN
from reslab.errors import UserError
from reslab.spec.boxes import COLUMNS, FRAME

SLACK = 1.0  # pixels over the edge of an image that nobody need hear of


def name_classes(annotations: Annotations, *, teller: Teller) -> tuple[str, ...]:
    """Return the classes: those the layout lists, or those of the objects of the first split."""
    if annotations.classes is not None:
        return annotations.classes
    names = {split: _first_places(images) for split, images in annotations.splits.items()}
    trained, *others = names
    for split in others:
        for name in sorted(names[split].keys() - names[trained].keys()):
            only = f"'{name}' is a class without training objects; correct it, or add it to the training images"
            teller.stop("unknown class", names[split][name], only)
    if not names[trained]:
        raise UserError(f"no image of {teller.root} has an object; annotate some")
    return tuple(sorted(names[trained]))


def _first_places(images: Sequence[Annotated]) -> dict[str, str]:
    """Return the names of all objects, each with the first place where it is."""
    places: dict[str, str] = {}
    for image in images:
        for thing in image.things:
            places.setdefault(thing.name, image.place)
    return places


def write_rows(
    image: Annotated,
    size: tuple[int, int],
    *,
    classes: Mapping[str, int],
    annotations: Annotations,
    teller: Teller,
) -> NDArray[np.float32] | None:
    """Return the frame and the objects of an image of this size, as it is read; None where that is not known."""
    if image.size is not None and UNKNOWN not in (size, image.size) and image.size != size:
        told, found = ("{}x{}".format(*each) for each in (image.size, size))
        teller.stop("other size", image.place, f"its image is {told} there, but {image.file} is {found} as it is shown")
        return None
    width, height = size if size != UNKNOWN else image.size or UNKNOWN
    if not width:
        teller.stop("unreadable", image.file, "is not an image that can be read; replace it, or remove it")
        return None
    rows: list[list[float]] = [[0, 0, width, height, FRAME, width, height]]
    seen = set[tuple[float, ...]]()
    for thing in image.things:
        thing = _scale(thing, width, height) if image.has_fractions else thing
        if trouble := _find_trouble(thing, width, height):
            teller.stop("wrong box", image.place, f"{annotations.write(thing, (width, height))} {trouble}; correct it")
        elif thing.right == thing.left or thing.bottom == thing.top:
            teller.note("no area", image.place, annotations.write(thing, (width, height)))
        elif thing.name in classes:  # if not, that is told already
            if max(-thing.left, -thing.top, thing.right - width, thing.bottom - height) > SLACK:
                told = annotations.write(thing, (width, height))
                teller.note("outside", image.place, f"{told}; the image is {width}x{height}")
            if (key := (*_box(thing), classes[thing.name])) in seen:
                teller.note("object twice", image.place, annotations.write(thing, (width, height)))
            seen.add(key)
            rows.append(_write_row(thing, classes[thing.name], width, height))
    if len(rows) == 1:
        teller.note("no objects", image.file)
    return np.array(rows, np.float32).reshape(-1, COLUMNS)


def _find_trouble(thing: Thing, width: int, height: int) -> str:
    """Say why a box cannot be used; nothing where it can."""
    if not all(map(math.isfinite, (*_box(thing), thing.area or 0))):
        return "is not all numbers"
    if thing.right < thing.left or thing.bottom < thing.top:
        return "ends before it begins"
    if thing.right <= 0 or thing.bottom <= 0 or thing.left >= width or thing.top >= height:
        return f"is outside of the image of {width}x{height}"
    return ""


def _box(thing: Thing) -> tuple[float, float, float, float]:
    return thing.left, thing.top, thing.right, thing.bottom


def _scale(thing: Thing, width: int, height: int) -> Thing:
    left, top, right, bottom = _box(thing)
    return thing._replace(left=left * width, top=top * height, right=right * width, bottom=bottom * height)


def _write_row(thing: Thing, number: int, width: int, height: int) -> list[float]:
    left, right = (min(max(side, 0), width) for side in (thing.left, thing.right))
    top, bottom = (min(max(side, 0), height) for side in (thing.top, thing.bottom))
    area = (right - left) * (bottom - top) if thing.area is None else thing.area
    return [left, top, right, bottom, number, thing.mark, area]
