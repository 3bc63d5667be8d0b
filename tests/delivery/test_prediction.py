"""What is said of a picture, as plain data."""

from __future__ import annotations

import json

from reslab.delivery.prediction import FoundObject, Guess, Prediction, to_plain


def test_guesses_and_labels() -> None:
    """Words and labels stand there where there are some."""
    plain = to_plain(Prediction("a.jpg", (Guess("n01", 0.75, "hen"), Guess("n02", 0.25)), ("n01",)))
    assert plain == {
        "image": "a.jpg",
        "labels": ["n01"],
        "guesses": [{"class": "n01", "words": "hen", "probability": 0.75}, {"class": "n02", "probability": 0.25}],
    }
    assert "labels" not in to_plain(Prediction("a.jpg", (Guess("hen", 1.0),)))


def test_objects() -> None:
    """With the picture's size, and no guesses; a picture without objects has an empty list."""
    found = FoundObject("bar", 0.875, (1.004, 2.0, 30.0, 40.126))
    plain = to_plain(Prediction("a.jpg", objects=(found,), size=(60, 45)))
    assert plain == {
        "image": "a.jpg",
        "width": 60,
        "height": 45,
        "objects": [{"class": "bar", "score": 0.875, "box": [1.0, 2.0, 30.0, 40.13]}],
    }
    assert json.loads(json.dumps(to_plain(Prediction("b.jpg", objects=(), size=(1, 1)))))["objects"] == []
