"""Predictions as CSV, read back by Python's own reader."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

from reslab.delivery.guess_table import to_csv, write_csv
from reslab.delivery.prediction import FoundObject, Guess, Prediction


def test_a_line_an_image(tmp_path: Path) -> None:
    """Names with commas, quotes, line breaks and bytes that are no UTF-8 come back; probabilities are numbers."""
    name = os.fsdecode(b'caf\xe9, "b"\n\r.jpg')
    first = Prediction(name, (Guess("bees", 0.75), Guess("ants, red", 0.25)))
    write_csv([first, Prediction("c.jpg", (Guess("ants, red", 1.0),))], tmp_path / "out" / "guesses.csv")
    with (tmp_path / "out" / "guesses.csv").open(newline="", errors="surrogateescape") as file:
        one, other = csv.DictReader(file)
    assert one == {
        "image": name,
        "guess": "bees",
        "probability": "0.75",
        "guess_2": "ants, red",
        "probability_2": "0.25",
    }
    assert (other["guess"], other["guess_2"], other["probability_2"]) == ("ants, red", "", "")


def test_labels_have_a_column() -> None:
    """With semicolons between them, empty where an image has none; any label comes back."""
    guesses = (Guess("disc", 0.9), Guess("bar", 0.6))
    lines = to_csv([Prediction("a", guesses, ("disc", "bar")), Prediction("b", guesses, ())]).splitlines()
    assert [line.decode() for line in lines] == [
        '"image","labels","guess","probability","guess_2","probability_2"',
        '"a","disc;bar","disc","0.9","bar","0.6"',
        '"b","","disc","0.9","bar","0.6"',
    ]
    labels = ("disc; red", '5" bar', "a\nb\r", "square")
    _, (_, cell, *_) = csv.reader(io.StringIO(to_csv([Prediction("a", guesses, labels)]).decode(), newline=""))
    assert tuple(next(csv.reader(io.StringIO(cell, newline=""), delimiter=";"))) == labels


def test_nothing_gives_the_columns() -> None:
    """As where every image was bad."""
    assert to_csv([]) == b'"image","guess","probability"\n'


def test_a_line_an_object() -> None:
    """With the edges of its box; a picture without objects has none, and the columns are there without any."""
    found = tuple(FoundObject(name, 0.1234567, (1.0, 2.0, 30.125, 40.0)) for name in ("a, b", "c"))
    predictions = [Prediction("x.jpg", objects=found), Prediction("y.jpg", objects=())]
    header, *lines = csv.reader(io.StringIO(to_csv(predictions, objects=True).decode()))
    assert header == ["image", "class", "score", "left", "top", "right", "bottom"]
    assert lines == [["x.jpg", name, "0.123457", "1.00", "2.00", "30.12", "40.00"] for name in ("a, b", "c")]
    assert to_csv([], objects=True).startswith(b'"image","class"')
