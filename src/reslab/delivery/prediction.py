"""What is said of a picture: guesses with their probabilities, or the objects in it; and whoever says that."""

import abc
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from reslab.delivery.pictures import Image, OnBad
from reslab.errors import UserError
from reslab.runtime.listener import DEAF, Listener

Box: TypeAlias = tuple[float, float, float, float]


@dataclass(frozen=True)
class Guess:
    """A class, by its name and, where the network knows them, in words, and how probable the network finds it."""

    name: str
    probability: float
    words: str | None = None


@dataclass(frozen=True)
class FoundObject:
    """An object's class, the score it is found with, and its box: left, top, right, bottom in pixels of the picture."""

    name: str
    score: float
    box: Box
    words: str | None = None


@dataclass(frozen=True)
class Prediction:
    """What a picture is taken for, the most probable first; `labels` are those it has, where it may have several.

    Of a detector there are no guesses, but `objects`, the best first, and the picture's `size`: width and height.
    """

    image: str
    guesses: tuple[Guess, ...] = ()
    labels: tuple[str, ...] | None = None
    objects: tuple[FoundObject, ...] | None = None
    size: tuple[int, int] | None = None


class Looker(abc.ABC):
    """Whatever looks at pictures and says what they show, with the names of the classes that it knows."""

    finds_objects: ClassVar[bool] = False

    origin: str
    network_name: str
    task: str
    class_names: tuple[str, ...]
    class_words: Mapping[str, str]

    @abc.abstractmethod
    def describe_preparation(self) -> str:
        """Say how a picture is prepared."""

    @abc.abstractmethod
    def predict(
        self,
        images: Image | Iterable[Image],
        *,
        top: int | None = None,
        threshold: float | None = None,
        on_bad: OnBad | None = None,
        listener: Listener = DEAF,
    ) -> list[Prediction]:
        """Say what each image shows, in their order: at most `top` things, with at least the `threshold`.

        An image that cannot be used raises an error that names it; with `on_bad` it is handed there and left out.
        """


def read_top(top: int | None) -> int | None:
    """Return how many things are to be said of an image; refuse none."""
    if top is not None and top < 1:
        raise UserError(f"top is {top}; give a number above 0")
    return top


def number_classes(classes: int) -> tuple[str, ...]:
    """Name classes that have no names."""
    return tuple(f"class {number}" for number in range(classes))


def to_plain(prediction: Prediction) -> dict[str, Any]:
    """Return a prediction as plain data."""
    if prediction.objects is not None:
        objects = [
            {**_name(found), "score": found.score, "box": [round(edge, 2) for edge in found.box]}
            for found in prediction.objects
        ]
        width, height = prediction.size or (None, None)
        return {"image": prediction.image, "width": width, "height": height, "objects": objects}
    guesses = [{**_name(guess), "probability": guess.probability} for guess in prediction.guesses]
    labels = {} if prediction.labels is None else {"labels": list(prediction.labels)}
    return {"image": prediction.image, **labels, "guesses": guesses}


def _name(said: Guess | FoundObject) -> dict[str, str]:
    return {"class": said.name, **({"words": said.words} if said.words else {})}
