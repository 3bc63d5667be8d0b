"""What is printed of a landscape."""

from __future__ import annotations

from typing import Any

from reslab.analysis.catalogue import find_printed

SETTINGS = {
    "points": 51, "dimensions": 2, "directions": "random", "seed": 3, "moves": "filters", "norms": "fixed",
    "norm_images": 1000, "precision": "bf16", "on": "test",
}  # fmt: skip
FOUND: dict[str, Any] = {
    "data": "cifar10",
    "images": 10000,
    "skipped_images": 0,
    "settings": SETTINGS,
    "centre": {"loss": 0.31234, "wrong": 0.0719},
    "loss": {"minimum": {"value": 0.3121, "at": [0.04, 0.0]}, "maximum": {"value": 31234.5, "at": [-1.0, 1.0]}},
    "wrong": {"minimum": {"value": 0.0715, "at": [0.0, 0.0]}, "maximum": {"value": 0.9, "at": [-1.0, 1.0]}},
    "nonconvex_share": 0.123,
    "directions": {"cosine": 0.001},
    "sharpness": {"+1": 0.1234, "-1": None},
}
PATH = {
    "steps": [2000, 64000],
    "coordinates": [[12.5, -3.0], [0.0, 0.0]],
    "loss": [1.25, 0.31234],
    "wrong": [0.4, 0.0719],
    "projected_loss": [None, 0.31234],
    "projected_wrong": [0.9, 0.0719],
}


def test_the_sentence_says_how_it_was_measured() -> None:
    """On which images, in which directions, by which statistics and in which precision."""
    printed = find_printed("landscape")
    assert printed.sentence(FOUND) == (
        "10,000 test images of cifar10; 51 × 51 points, directions random, seed 3, of filters; batch norm fixed; bf16"
    )
    others = {"directions": "pca", "norms": "anew", "on": "train", "dimensions": 1, "moves": "all"}
    assert printed.sentence(FOUND | {"skipped_images": 2, "settings": SETTINGS | others}) == (
        "10,000 training images of cifar10 (bad images skipped: 2); 51 points, directions along the run's path, of all "
        "parameters; batch norm anew at each point from 1,000 training images; bf16"
    )


def test_the_table_has_extremes_and_sharpness() -> None:
    """A row for each number; what a landscape does not reach is said so."""
    rows = {name: tuple(rest) for name, *rest in find_printed("landscape").table(FOUND).rows}
    assert rows["loss at the weights"] == ("0.3123", "0, 0")
    assert rows["largest loss"] == ("3.123e+04", "-1, 1")
    assert rows["share of wrong images at the weights, %"] == ("7.19", "0, 0")
    assert rows["smallest share of wrong images, %"] == ("7.15", "0, 0")
    assert rows["radius of twice the loss, +1"] == ("0.123", "")
    assert rows["radius of twice the loss, -1"] == ("not reached", "")
    assert rows["points not convex, %"] == ("12.3", "")


def test_a_path_has_a_row_for_every_step() -> None:
    """The loss where the weights were, and where the plane has them."""
    found = {name: value for name, value in FOUND.items() if name != "sharpness"}
    found |= {"path": PATH, "directions": {"explained": [0.8, 0.15]}, "nonconvex_share": None}
    rows = {name: tuple(rest) for name, *rest in find_printed("landscape").table(found).rows}
    assert rows["variance of direction 2, %"] == ("15.0", "")
    assert rows["loss at step 2,000, projected"] == ("1.25 → not finite", "12.5, -3")
    assert rows["loss at step 64,000, projected"] == ("0.3123 → 0.3123", "0, 0")
    assert not any("radius" in name or "convex" in name for name in rows)
