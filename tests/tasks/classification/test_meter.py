"""Scores against counting by hand."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from reslab.tasks.classification.meter import Counts, Scores


def score(batches: Iterable[tuple[Tensor, Tensor]], *, classes: int) -> Scores:
    counts = Counts(classes=classes, device="cpu")
    for logits, labels in batches:
        counts.add(logits, labels)
    return counts.read()


def test_errors_and_confusion() -> None:
    """Six classes, five images in two batches: top-1, top-5 and every cell."""
    logits = torch.tensor(
        [[9, 1, 2, 3, 4, 5], [9, 1, 2, 3, 4, 5], [1, 9, 2, 3, 4, 5], [9, 8, 7, 6, 5, 1], [1, 2, 3, 4, 5, 9]]
    ).float()
    labels = torch.tensor([0, 2, 1, 5, 5])
    batches = [(logits[:3], labels[:3]), (logits[3:], labels[3:])]
    scores = score(batches, classes=6)
    assert scores.error_percent == pytest.approx(40)
    assert scores.top5_error_percent == pytest.approx(20)
    assert scores.loss == pytest.approx(nn.functional.cross_entropy(logits, labels).item())
    assert scores.confusion[2][0] == scores.confusion[5][0] == scores.confusion[0][0] == 1
    assert sum(map(sum, scores.confusion)) == 5
    assert scores.class_error_percent == [0, 0, 100, None, None, 50]  # of the fourth and fifth there are no images
    assert scores.recorded()["class_error_percent"][3] is None


def test_how_far_above_chance() -> None:
    """Cohen's kappa: the textbook's example, the truth, one class for all, and labels in another order."""

    def guess(confusion: list[list[int]]) -> float:
        pairs = [
            (truth, guessed) for truth, row in enumerate(confusion) for guessed, n in enumerate(row) for _ in range(n)
        ]
        truths, guesses = torch.tensor(pairs).T
        return score(
            [(nn.functional.one_hot(guesses, len(confusion)).float(), truths)], classes=len(confusion)
        ).above_chance

    assert guess([[20, 5], [10, 15]]) == pytest.approx(0.4)
    assert guess([[20, 0], [0, 15]]) == 1
    assert guess([[45, 0], [5, 0]]) == 0
    assert guess([[0, 9, 0], [0, 0, 9], [9, 0, 0]]) == pytest.approx(-0.5)
    assert guess([[7, 0], [0, 0]]) == guess([[7, 3], [0, 0]]) == 1  # of one class nothing can be told


def test_the_balanced_error_counts_classes_not_images() -> None:
    """The mean of the class errors, over the classes there are; none where all have as many images."""
    logits = torch.eye(3)[[0, 0, 0, 0, 0, 1]]
    scores = score([(logits, torch.tensor([0, 0, 0, 0, 1, 1]))], classes=3)
    assert scores.error_percent == pytest.approx(100 / 6)
    assert scores.balanced_error_percent == pytest.approx((0 + 50) / 2)
    assert score([(torch.eye(3), torch.tensor([0, 2, 1]))], classes=3).balanced_error_percent is None


def brute_force_ece(probabilities: np.ndarray, labels: np.ndarray) -> float:
    """Fifteen bins, one after the other, each open below and closed above."""
    confidence, right = probabilities.max(1), probabilities.argmax(1) == labels
    error = 0.0
    for number in range(15):
        inside = (confidence > number / 15) & (confidence <= (number + 1) / 15)
        if inside.any():
            error += inside.mean() * abs(confidence[inside].mean() - right[inside].mean())
    return 100 * error


@given(st.integers(0, 10_000), st.integers(2, 40), st.sampled_from([0.1, 1.0, 10.0]))
def test_calibration_equals_brute_force(seed: int, classes: int, scale: float) -> None:
    """Over many logits in two batches, from unsure to certain."""
    generator = torch.Generator().manual_seed(seed)
    logits = scale * torch.randn(60, classes, generator=generator)
    labels = torch.randint(0, classes, (60,), generator=generator)
    batches = [(logits[:17], labels[:17]), (logits[17:], labels[17:])]
    scores = score(batches, classes=classes)
    probabilities = logits.softmax(1).numpy()
    assert scores.ece_percent == pytest.approx(brute_force_ece(probabilities, labels.numpy()), abs=1e-4)
    assert scores.mean_confidence_percent == pytest.approx(100 * probabilities.max(1).mean(), abs=1e-4)


@pytest.mark.parametrize(("right", "ece"), [(10, 10.0), (9, 0.0), (0, 90.0)])
def test_known_calibrations(right: int, ece: float) -> None:
    """Ten guesses at 90 %: perfect with nine right; and counting starts again when cleared."""
    logits = torch.tensor([0.9, 0.1]).log().repeat(10, 1)
    labels = (torch.arange(10) >= right).long()
    counts = Counts(classes=2, device="cpu")
    counts.add(-logits, labels)
    counts.clear()
    counts.add(logits, labels)
    scores = counts.read()
    assert scores.ece_percent == pytest.approx(ece, abs=1e-4)
    assert scores.mean_confidence_percent == pytest.approx(90, abs=1e-4)
    assert scores.error_percent == 100 - 10 * right


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_an_image_without_numbers_is_wrong_and_counted(value: float) -> None:
    """Whatever its largest logit is; what is recorded of finite ones stays as it was."""
    logits, labels = torch.eye(7)[:4].clone(), torch.arange(4)
    assert score([(logits, labels)], classes=7).not_finite == 0
    logits[1, 1], logits[2, 0] = value, value
    scores = score([(logits[:2], labels[:2]), (logits[2:], labels[2:])], classes=7)
    assert (scores.not_finite, scores.error_percent, scores.top5_error_percent) == (2, 50, 50)
    assert scores.images == 4
    assert "not_finite" not in scores.recorded()
