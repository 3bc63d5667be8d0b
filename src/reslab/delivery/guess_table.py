"""Predictions as a CSV file: the image, the first guess with its probability, and those behind it."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from reslab.delivery.predictor import Prediction
from reslab.files import write_text


def to_csv(predictions: Sequence[Prediction]) -> str:
    """Return a line for each image below one with the names of the columns.

    Images with several labels have these in a column of their own, with semicolons between them.
    """
    several = any(prediction.labels is not None for prediction in predictions)
    most = max((len(prediction.guesses) for prediction in predictions), default=1)
    header = ["image", *(["labels"] if several else []), "guess", "probability"]
    header += [f"{name}_{rank}" for rank in range(2, most + 1) for name in ("guess", "probability")]
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(header)
    for prediction in predictions:
        guesses = [cell for guess in prediction.guesses for cell in (guess.name, f"{guess.probability:.6g}")]
        labels = [";".join(prediction.labels or ())] if several else []
        row = [prediction.image, *labels, *guesses]
        rows.writerow(row + [""] * (len(header) - len(row)))
    return text.getvalue()


def write_csv(predictions: Sequence[Prediction], path: Path) -> None:
    """Write predictions as CSV, whole or not at all."""
    write_text(path, to_csv(predictions))
