"""Average precision against counting by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from reslab.errors import UserError
from reslab.tasks.multilabel.meter import LabelCounts, LabelScores, average_precision


def count_precision(scores: np.ndarray, truths: np.ndarray) -> float:
    """The definition, slowly: at every score there is, precision times what recall rose by."""
    total, recall = 0.0, 0.0
    for threshold in sorted(set(scores.tolist()), reverse=True):
        found = scores >= threshold
        now = (found & truths).sum() / truths.sum()
        total += (now - recall) * (found & truths).sum() / found.sum()
        recall = now
    return total


@given(st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=1, max_size=30))
def test_average_precision_is_the_definition(pairs: list[tuple[int, bool]]) -> None:
    """Whatever ties there are; none where no image has the label."""
    scores, truths = np.array([pair[0] for pair in pairs], float), np.array([pair[1] for pair in pairs])
    found = average_precision(scores, truths)
    if not truths.any():
        assert found is None
    else:
        assert found == pytest.approx(count_precision(scores, truths))


def test_average_precision_is_scikit_learns() -> None:
    """Where that is installed."""
    metrics = pytest.importorskip("sklearn.metrics")
    random = np.random.default_rng(0)
    for _ in range(20):
        scores, truths = random.integers(0, 8, 50) / 8, random.random(50) < 0.3
        assert average_precision(scores, truths) == pytest.approx(metrics.average_precision_score(truths, scores))


def test_a_perfect_order_is_one_and_the_example_of_the_books() -> None:
    """Right, wrong, right: (1 + 2/3) / 2."""
    assert average_precision(np.array([0.9, 0.8, 0.1]), np.array([True, True, False])) == 1
    assert average_precision(np.array([0.9, 0.8, 0.7]), np.array([True, False, True])) == pytest.approx(5 / 6)


def score(logits: torch.Tensor, labels: torch.Tensor) -> LabelScores:
    counts = LabelCounts(images=len(labels), classes=labels.shape[1], device="cpu")
    counts.add(logits[:2], labels[:2])
    counts.add(logits[2:], labels[2:])
    return counts.read()


LOGITS = torch.tensor([[3.0, -1.0, 2.0], [-2.0, -2.0, 1.0], [1.0, 1.0, 0.5]])
LABELS = torch.tensor([[1, 0, 0], [0, 0, 0], [0, 1, 0]])


def test_scores_of_a_few_images() -> None:
    """A label that no image has is left out of the mean; an image is wrong if any label is."""
    scores = score(LOGITS, LABELS)
    assert scores.class_average_precision_percent == [100.0, 100.0, None]
    assert scores.map_percent == 100
    assert scores.class_positives == [1, 1, 0]
    assert scores.error_percent == 100
    assert scores.loss == pytest.approx(F.binary_cross_entropy_with_logits(LOGITS, LABELS.float()).item())
    assert score(LOGITS[:, :2], LABELS[:, :2]).error_percent == pytest.approx(100 / 3)
    assert score(-LOGITS, LABELS).map_percent == pytest.approx(100 / 3)


def test_shares_add_up_and_bad_images_are_left_out() -> None:
    """Two processes, each from its own place on, one of which could not read its last image."""
    shares = [LabelCounts(images=5, classes=3, device="cpu", first=first) for first in (0, 2)]
    shares[0].add(LOGITS[:2], LABELS[:2])
    shares[1].add(LOGITS[2:], LABELS[2:])
    for ours, theirs in zip(shares[0].tensors, shares[1].tensors, strict=True):
        ours += theirs
    assert shares[0].read() == score(LOGITS, LABELS)


def test_how_far_above_chance() -> None:
    """From ranking images in any order to finding all first."""
    labels = torch.tensor([[1, 0], [1, 1], [0, 0], [0, 1]])
    for logits, above in ((labels * 2.0 - 1, 1.0), (torch.zeros(4, 2), 0.0)):
        counts = LabelCounts(images=4, classes=2, device="cpu")
        counts.add(logits, labels)
        assert counts.read().above_chance == pytest.approx(above)


def test_nothing_to_find_is_told() -> None:
    """There is no precision without an image to find."""
    with pytest.raises(UserError, match="no test image has a label"):
        score(LOGITS, 0 * LABELS)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_an_image_without_numbers_is_wrong_and_comes_last(value: float) -> None:
    """It is counted, and the other images are ranked as before."""
    logits = LOGITS[:, :2].clone()
    logits[1, 0] = value
    scores = score(logits, LABELS[:, :2])
    assert scores.not_finite == 1
    assert scores.error_percent == pytest.approx(200 / 3)
    assert scores.class_average_precision_percent == [100.0, 100.0]
    assert "not_finite" not in scores.recorded()
    logits[0, 0] = value  # the one image that has the first label: it ties for the last place
    assert score(logits, LABELS[:, :2]).class_average_precision_percent[0] == pytest.approx(100 / 3)
