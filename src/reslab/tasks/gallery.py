"""Test images worth a look: the worst mistakes and the surest hits of each class. How they are chosen, kept and shown.

A task says what it thinks of each image as `Opinions`; few of them are kept, so that a run's gallery stays small. What
is chosen depends on nothing but the answers. No torch: the report reads this on machines that have none.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reslab.errors import UserError
from reslab.spec.codec import decode_known

FILE = "gallery"
MISTAKES, HITS = 6, 3  # that are kept of a class
MOST_MISTAKES, MOST_HITS = 120, 60  # that are kept in all, where classes are many
NEITHER = -1  # in place of a class: not the one that it is about

# What a network thinks of an image: `sure` is the probability of its `guess`, and it is counted for the class `about`.
OPINION = np.dtype([("about", "i8"), ("right", "?"), ("sure", "f8"), ("index", "i8"), ("truth", "i8"), ("guess", "i8")])
Opinions: TypeAlias = NDArray[np.void]


def form_opinions(**columns: NDArray[Any]) -> Opinions:
    """Return opinions by their fields."""
    opinions = np.empty(len(columns["index"]), OPINION)
    for name, values in columns.items():
        opinions[name] = values
    return opinions


def choose(opinions: Opinions) -> Opinions:
    """Return the surest mistakes and hits of each class, in order: to choose again, with more, changes nothing."""
    ranked, ranks = _rank(opinions)
    return ranked[ranks < np.where(ranked["right"], HITS, MISTAKES)]


def limit(opinions: Opinions) -> Opinions:
    """Return no more of them than a run keeps: every class has its first before any has its second."""
    ranked, ranks = _rank(opinions)
    fair = np.lexsort((ranked["index"], ranked["about"], -ranked["sure"], ranks))
    kept = [fair[ranked["right"][fair] == right][:most] for right, most in ((False, MOST_MISTAKES), (True, MOST_HITS))]
    return ranked[np.sort(np.concatenate(kept))]


def _rank(opinions: Opinions) -> tuple[Opinions, NDArray[np.int64]]:
    """Sort opinions by class, mistakes before hits, the surest first; say which place each has among its like."""
    ranked = opinions[np.lexsort((opinions["index"], -opinions["sure"], opinions["right"], opinions["about"]))]
    places = np.arange(len(ranked))
    begins = np.ones(len(ranked), bool)
    begins[1:] = (ranked["about"][1:] != ranked["about"][:-1]) | (ranked["right"][1:] != ranked["right"][:-1])
    return ranked, places - np.maximum.accumulate(np.where(begins, places, 0))


@dataclass(frozen=True, kw_only=True)
class Thumbnail:
    """A small image: a JPEG in base64, and its size in pixels."""

    jpeg: str
    width: int
    height: int

    def __post_init__(self) -> None:
        try:
            base64.b64decode(self.jpeg, validate=True)
        except (binascii.Error, ValueError) as error:
            raise UserError(f"a thumbnail is no base64: {error}") from error


@dataclass(frozen=True, kw_only=True)
class Example:
    """One image: what it is called, what it is and was taken for, how sure the network was, and how it looks."""

    name: str
    truth: str
    guess: str
    probability: float
    picture: Thumbnail


@dataclass(frozen=True, kw_only=True)
class ClassExamples:
    """The worst mistakes and the surest hits of a class."""

    name: str
    mistakes: tuple[Example, ...] = ()
    hits: tuple[Example, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Gallery:
    """The examples of a run, by class; `note` says what counts as a mistake of a class."""

    note: ClassVar[str]

    classes: tuple[ClassExamples, ...] = ()

    @property
    def worst_first(self) -> list[ClassExamples]:
        """The classes, that of the surest mistake first; those without any come last, as they are."""
        return sorted(self.classes, key=lambda one: -max((mistake.probability for mistake in one.mistakes), default=0))

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Self:
        """Read what a run keeps."""
        return decode_known(cls, data)
