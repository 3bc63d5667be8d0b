"""Predictions as a CSV file: the image, the first guess with its probability, and those behind it.

Every cell is quoted, so that any file name comes back, with line breaks and bytes that are no UTF-8.
"""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from reslab.delivery.predictor import Prediction
from reslab.files import atomic_write

COLUMN = b'"image",'  # what every such table begins with


def to_csv(predictions: Sequence[Prediction]) -> bytes:
    """Return a line for each image below one with the names of the columns.

    Images with several labels have these in a column of their own, with semicolons between them.
    """
    several = any(prediction.labels is not None for prediction in predictions)
    most = max((len(prediction.guesses) for prediction in predictions), default=1)
    header = ["image", *(["labels"] if several else []), "guess", "probability"]
    header += [f"{name}_{rank}" for rank in range(2, most + 1) for name in ("guess", "probability")]
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    rows.writerow(header)
    for prediction in predictions:
        guesses = [cell for guess in prediction.guesses for cell in (guess.name, f"{guess.probability:.6g}")]
        labels = [_join(prediction.labels or ())] if several else []
        row = [prediction.image, *labels, *guesses]
        rows.writerow(row + [""] * (len(header) - len(row)))
    return text.getvalue().encode("utf-8", "surrogateescape")


def write_csv(predictions: Sequence[Prediction], path: Path) -> None:
    """Write predictions as CSV, whole or not at all."""
    with atomic_write(path) as temporary:
        temporary.write_bytes(to_csv(predictions))


def _join(labels: Sequence[str]) -> str:
    """Return labels with semicolons between them; one that has a semicolon is quoted, as in CSV."""
    text = io.StringIO()
    csv.writer(text, delimiter=";").writerow(labels)
    return text.getvalue().removesuffix("\r\n")
