"""What pages show of a classification: the confusion matrix, the error of each class; and whether these agree."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from reslab.errors import UserError
from reslab.numbers import count, percent
from reslab.scores import Score
from reslab.spec.codec import convert
from reslab.tasks.classification.scores import BALANCED_ERROR, CLASS_ERRORS, CONFUSION, ERROR, list_void
from reslab.tasks.display import Cell, Panel, Plot, Section

MOST_CLASSES = 200  # in a picture
MOST_PAIRS = 6


@dataclass(frozen=True)
class ClassPanel(Panel):
    """Images by truth and guess, and the error of each class as it was written down."""

    class_names: tuple[str, ...] = ()
    confusion: tuple[tuple[int, ...], ...] = ()
    recorded_errors: tuple[float | None, ...] = ()

    @classmethod
    def read(cls, result: Mapping[str, Any]) -> Self:
        """Read a result; its confusion, a million cells of a thousand classes, is checked at once."""
        confusion = _read_confusion(result.get(CONFUSION, ()))
        errors = convert(tuple[float | None, ...], result.get(CLASS_ERRORS, ()), where=CLASS_ERRORS)
        if len(errors) != len(confusion):
            raise UserError("its confusion matrix and its class errors have different numbers of classes")
        return cls(len(confusion), tuple(result.get("class_names", ())), confusion, errors)

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes' names, or numbers where a run did not record names."""
        return self.class_names or tuple(map(str, range(len(self.confusion))))

    @cached_property
    def class_errors(self) -> tuple[float | None, ...]:
        """The error of each class; None where no test image is of it, for which early versions wrote 0."""
        return tuple(
            error if sum(row) else None for error, row in zip(self.recorded_errors, self.confusion, strict=True)
        )

    def recount(self, values: Mapping[str, float | None]) -> Iterator[tuple[str, float, float]]:
        """Yield each error with what the confusion comes to."""
        images = sum(map(sum, self.confusion))
        if not images:
            return
        right = sum(row[truth] for truth, row in enumerate(self.confusion))
        if (said := values.get(ERROR.key("test"))) is not None:
            yield ERROR.key("test"), said, 100 * (1 - right / images)
        errors = []
        for truth, (row, said) in enumerate(zip(self.confusion, self.class_errors, strict=True)):
            if said is not None:
                errors.append(100 * (1 - row[truth] / sum(row)))
                yield f"{CLASS_ERRORS} of {self.classes[truth]}", said, errors[-1]
        if (said := values.get(BALANCED_ERROR.name)) is not None and errors:
            yield BALANCED_ERROR.name, said, statistics.fmean(errors)

    def list_void(self) -> tuple[Score, ...]:
        """Return the error of five guesses where there are not more classes."""
        return list_void(len(self.confusion))

    def sections(self) -> Sequence[Section]:
        """Return the confusion matrix, unless classes are too many for a picture, beside the errors."""
        if not self.confusion:
            return ()
        largest = max((error for error in self.class_errors if error is not None), default=0.0)
        images = [sum(row) for row in self.confusion]
        rows = tuple(
            (name, (Cell(number, count(number)), Cell(error, percent(error), largest)))
            for name, number, error in zip(self.classes, images, self.class_errors, strict=True)
        )
        section = Section(
            title="Classes",
            table_title="Error of each class",
            words="Error of each class",
            headings=(("class", ""), ("images", ""), ("error", "%")),
            rows=rows,
            plots=self._plot(),
        )
        return (section,)

    def _plot(self) -> tuple[Plot, ...]:
        if len(self.confusion) > MOST_CLASSES:
            return ()
        note = "Images by true class (rows) and guess (columns); mistakes in the warmer colour."
        if pairs := self._find_confused():
            told = [f"{truth} taken for {guess} ({images})" for truth, guess, images in pairs]
            note += f" Most often: {', '.join(told)}."
        content = {"classes": list(self.classes), "counts": self.confusion}
        words = "Confusion matrix: images by true class and guess"
        return (Plot(CONFUSION, "matrix", "Confusion", content, words=words, note=note),)

    def _find_confused(self) -> list[tuple[str, str, int]]:
        """Return the pairs of classes most often confused: truth, guess, images."""
        pairs = [
            (images, truth, guess)
            for truth, row in enumerate(self.confusion)
            for guess, images in enumerate(row)
            if truth != guess and images
        ]
        worst = sorted(pairs, key=lambda pair: (-pair[0], pair[1:]))[:MOST_PAIRS]
        return [(self.classes[truth], self.classes[guess], images) for images, truth, guess in worst]

    @classmethod
    def compare(cls, rows: Sequence[tuple[str, Sequence[Self]]], *, key: str) -> list[Plot]:
        """Return the error of each class, a row for each network: means over seeds."""
        counted = [(label, found) for label, panels in rows if (found := [one for one in panels if one.confusion])]
        if not counted or len(names := counted[0][1][0].classes) > MOST_CLASSES:
            return []
        shown = [(label, panels) for label, panels in counted if panels[0].classes == names]
        content = {
            "classes": list(names),
            "rows": [label for label, _ in shown],
            "errors": [
                [_mean([panel.class_errors[index] for panel in panels]) for index in range(len(names))]
                for _, panels in shown
            ],
        }
        note = (
            "The test error of each class in percent, a row for each network{means}. "
            "Each run’s page has its confusion matrix."
        )
        return [Plot(key, "classes", "Classes", content, words="Test error of each class", note=note)]


def _read_confusion(rows: Any) -> tuple[tuple[int, ...], ...]:
    """Return the confusion as it is written down, if it counts images by truth and guess; there may be none."""
    try:
        counts = np.array(rows)
    except (ValueError, OverflowError):  # rows of different lengths
        counts = np.array(None)
    if counts.shape == (0,):
        return ()
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1]:
        raise UserError("its confusion matrix is not square, with a row and a column for each class")
    if counts.dtype.kind not in "iu" or counts.min() < 0:
        raise UserError("its confusion matrix has cells that are not counts; each must be a whole number, 0 or more")
    return tuple(map(tuple, counts.tolist()))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(statistics.fmean(known), 2) if known else None


PANEL = ClassPanel
