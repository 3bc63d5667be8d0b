"""Predictions as CSV, read back by Python's own reader."""

from __future__ import annotations

import csv
from pathlib import Path

from reslab.delivery.guess_table import to_csv, write_csv
from reslab.delivery.predictor import Guess, Prediction


def test_a_line_an_image(tmp_path: Path) -> None:
    """Names with commas, quotes and line breaks come back; probabilities are numbers."""
    first = Prediction('a, "b"\n.jpg', (Guess("bees", 0.75), Guess("ants, red", 0.25)))
    write_csv([first, Prediction("c.jpg", (Guess("ants, red", 1.0),))], tmp_path / "out" / "guesses.csv")
    with (tmp_path / "out" / "guesses.csv").open(newline="", encoding="utf-8") as file:
        one, other = csv.DictReader(file)
    assert one == {
        "image": 'a, "b"\n.jpg',
        "guess": "bees",
        "probability": "0.75",
        "guess_2": "ants, red",
        "probability_2": "0.25",
    }
    assert (other["guess"], other["guess_2"], other["probability_2"]) == ("ants, red", "", "")


def test_labels_have_a_column() -> None:
    """With semicolons between them, as lists of labels to train on have; it is empty where an image has none."""
    guesses = (Guess("disc", 0.9), Guess("bar", 0.6))
    lines = to_csv([Prediction("a", guesses, ("disc", "bar")), Prediction("b", guesses, ())]).splitlines()
    assert lines == [
        "image,labels,guess,probability,guess_2,probability_2",
        "a,disc;bar,disc,0.9,bar,0.6",
        "b,,disc,0.9,bar,0.6",
    ]


def test_nothing_gives_the_columns() -> None:
    """As where every image was bad."""
    assert to_csv([]) == "image,guess,probability\n"
