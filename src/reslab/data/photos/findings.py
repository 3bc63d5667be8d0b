"""What is found in a folder of photographs: an error stops a training, a warning may spoil what it measures.

Decoding handles what a note names. Training stops at the first error; the check continues to find all of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from reslab.errors import UserError

LEAST_SIDE = 32  # of an image that is not tiny


class Kind(NamedTuple):
    """How much a finding matters, and what it means."""

    severity: str
    meaning: str


KINDS = {
    "unreadable": Kind("error", "cannot be decoded; correct it or remove it"),
    "wrong shard": Kind("error", "cannot be used; repair it, fetch it or write it again"),
    "wrong line": Kind("error", "a line of a list cannot be used; correct it or remove it"),
    "wrong annotation": Kind("error", "cannot be used; correct it or remove it"),
    "missing image": Kind("error", "is annotated or listed, but not there; add it, or remove it from the list"),
    "no annotation": Kind(
        "error", "is listed, but nothing says what is in it; annotate it, or remove it from the list"
    ),
    "wrong box": Kind("error", "not a box inside the image; correct it or remove it"),
    "unknown class": Kind("error", "is not among the classes; correct it, or add it to them"),
    "other size": Kind("error", "its annotation is of another size, so the boxes do not fit; annotate it as it is"),
    "closed folder": Kind("error", "cannot be opened; check its permissions"),
    "empty class": Kind("error", "has no images; fill it or remove it"),
    "too few classes": Kind("error", "at least two are needed; make a folder for each"),
    "single image": Kind("error", "at least two are needed, to hold one out; add some, or make a val folder"),
    "class only in val": Kind("error", "has no training images; add it to train, or remove it"),
    "listed twice": Kind("warning", "is used once"),
    "no area": Kind("warning", "a box without area is left out"),
    "outside": Kind("warning", "a box reaches over the edge of the image; it is cut off there"),
    "object twice": Kind("warning", "the same box with the same class; both are used"),
    "in train and val": Kind("warning", "a test image has the pixels of a training image"),
    "two labels": Kind("warning", "the same pixels with different labels"),
    "class not in val": Kind("warning", "has no test images"),
    "animated": Kind("warning", "only its first frame is used"),
    "transparent": Kind("warning", "transparency is dropped"),
    "tiny": Kind("warning", f"its shorter side is less than {LEAST_SIDE} pixels"),
    "ignored": Kind("warning", "not used: not an image, not in a class, not on a list or not annotated"),
    "duplicate link": Kind("warning", "a link to a folder that is already read; it is read once"),
    "uneven classes": Kind("note", "recipe.class_weights=balanced gives rare classes more weight"),
    "no objects": Kind("note", "used as background"),
    "duplicate": Kind("note", "the same pixels with the same label"),
    "misnamed": Kind("note", "its content decides the format, not its name"),
    "CMYK": Kind("note", "converted to RGB"),
    "grey": Kind("note", "repeated in three channels"),
    "16 bits": Kind("note", "only the upper 8 bits are used"),
    "broken EXIF": Kind("note", "what cannot be read of it is ignored"),
    "rotated by EXIF": Kind("note", "decoded upright"),
}


@dataclass(frozen=True)
class Finding:
    """Something found at a path, relative to the folder."""

    kind: str
    path: str
    detail: str = ""

    @property
    def severity(self) -> str:
        """How much it matters."""
        return KINDS[self.kind].severity


# Receives a finding, if it has a kind and a place, and the sentence that training stops with, if it stops.
Tell = Callable[[Finding | None, str | None], None]


def refuse(finding: Finding | None, refusal: str | None) -> None:
    """Stop where a training stops."""
    if refusal is not None:
        raise UserError(refusal)
