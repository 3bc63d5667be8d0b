"""Which test images are kept to be looked at, and how they are read back."""

from __future__ import annotations

import numpy as np
import pytest
from tests.runs_by_hand import EXAMPLE

from reslab.errors import UserError
from reslab.tasks.gallery import HITS, MISTAKES, MOST_HITS, MOST_MISTAKES, Gallery, choose, form_opinions, limit


def make_opinions(count: int, *, classes: int, seed: int = 0) -> np.ndarray:
    """Return opinions about images, with ties."""
    random = np.random.default_rng(seed)
    truths, guesses = random.integers(0, classes, (2, count))
    sure = random.integers(1, 20, count) / 20
    return form_opinions(
        about=truths, right=truths == guesses, sure=sure, index=np.arange(count), truth=truths, guess=guesses
    )


def test_the_surest_of_each_class_are_kept() -> None:
    """By brute force: sorted by how sure, then by number, mistakes and hits apart."""
    opinions = make_opinions(300, classes=4)
    kept = {(int(one["about"]), bool(one["right"]), int(one["index"])) for one in choose(opinions)}
    expected = set()
    for about in range(4):
        for right, most in ((False, MISTAKES), (True, HITS)):
            like = [one for one in opinions if one["about"] == about and one["right"] == right]
            like.sort(key=lambda one: (-one["sure"], one["index"]))
            expected |= {(about, right, int(one["index"])) for one in like[:most]}
    assert kept == expected


def test_parts_chosen_from_come_to_the_same_as_the_whole() -> None:
    """So batches and processes may choose for themselves first, in any order."""
    opinions = make_opinions(200, classes=3)
    parts = [choose(opinions[first::3]) for first in (2, 0, 1)]
    assert np.array_equal(choose(np.concatenate(parts)), choose(opinions))
    assert len(choose(opinions[:0])) == len(limit(opinions[:0])) == 0


def test_many_classes_share_what_may_be_kept() -> None:
    """Each has its worst mistake before any has its second; the rest is bounded."""
    opinions = make_opinions(9000, classes=80)
    opinions["right"][::3] = True
    kept = limit(choose(opinions))
    wrong = kept[~kept["right"]]
    assert (len(wrong), len(kept) - len(wrong)) == (MOST_MISTAKES, MOST_HITS)
    assert set(wrong["about"]) == set(range(80))
    few = choose(make_opinions(40, classes=2))
    assert np.array_equal(limit(few), few)


def test_the_class_of_the_surest_mistake_comes_first() -> None:
    """Those without a mistake come last."""
    classes = [
        {"name": "ants", "hits": [EXAMPLE]},
        {"name": "bees", "mistakes": [EXAMPLE | {"probability": 0.6}]},
        {"name": "wasps", "mistakes": [EXAMPLE | {"probability": 0.9}]},
    ]
    gallery = Gallery.read({"classes": classes, "of_tomorrow": 1})
    assert [one.name for one in gallery.worst_first] == ["wasps", "bees", "ants"]


def test_a_thumbnail_is_base64_or_refused() -> None:
    """It goes into pages as it is."""
    hostile = EXAMPLE["picture"] | {"jpeg": '"><b>'}
    with pytest.raises(UserError, match="a thumbnail is no base64"):
        Gallery.read({"classes": [{"name": "ants", "hits": [EXAMPLE | {"picture": hostile}]}]})
