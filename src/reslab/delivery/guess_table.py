"""Predictions as a CSV file: the image, the first guess with its probability, and those behind it; or its objects.

Every cell is quoted, so that any file name comes back, with line breaks and bytes that are no UTF-8.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from reslab.delivery.prediction import Prediction
from reslab.files import atomic_write

COLUMN = b'"image",'  # what every such table begins with
OBJECT_COLUMNS = ("image", "class", "score", "left", "top", "right", "bottom")
Row: TypeAlias = Sequence[str]


def to_csv(predictions: Sequence[Prediction], *, objects: bool = False) -> bytes:
    """Return a line for each image, or for each of the `objects` found, below one with the names of the columns.

    Images with several labels have these in a column of their own, with semicolons between them.
    """
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    rows.writerows(_list_objects(predictions) if objects else _list_guesses(predictions))
    return text.getvalue().encode("utf-8", "surrogateescape")


def write_csv(predictions: Sequence[Prediction], path: Path, *, objects: bool = False) -> None:
    """Write predictions as CSV, whole or not at all."""
    with atomic_write(path) as temporary:
        temporary.write_bytes(to_csv(predictions, objects=objects))


def _list_guesses(predictions: Sequence[Prediction]) -> Iterator[Row]:
    several = any(prediction.labels is not None for prediction in predictions)
    most = max((len(prediction.guesses) for prediction in predictions), default=1)
    header = ["image", *(["labels"] if several else []), "guess", "probability"]
    header += [f"{name}_{rank}" for rank in range(2, most + 1) for name in ("guess", "probability")]
    yield header
    for prediction in predictions:
        guesses = [cell for guess in prediction.guesses for cell in (guess.name, f"{guess.probability:.6g}")]
        labels = [_join(prediction.labels or ())] if several else []
        row = [prediction.image, *labels, *guesses]
        yield row + [""] * (len(header) - len(row))


def _list_objects(predictions: Sequence[Prediction]) -> Iterator[Row]:
    yield OBJECT_COLUMNS
    for prediction in predictions:
        for found in prediction.objects or ():
            yield [prediction.image, found.name, f"{found.score:.6g}", *(f"{edge:.2f}" for edge in found.box)]


def _join(labels: Sequence[str]) -> str:
    """Return labels with semicolons between them; one that has a semicolon is quoted, as in CSV."""
    text = io.StringIO()
    csv.writer(text, delimiter=";").writerow(labels)
    return text.getvalue().removesuffix("\r\n")
