"""The task of one class per image: its losses and counts, by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from reslab.tasks.averages import average_softmax
from reslab.tasks.classification.meter import Counts
from reslab.tasks.classification.task import TASK

LOGITS = torch.tensor([[2.0, 0.0, -1.0], [0.0, 1.0, 0.5], [0.5, 0.0, 3.0]])
TARGETS = torch.tensor([0, 2, 2])


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("weights", [None, torch.tensor([0.5, 1.0, 3.0])])
def test_the_loss_is_the_cross_entropy(smoothing: float, weights: torch.Tensor | None) -> None:
    """Smoothed towards all classes alike, an image as often as its class counts; the mean is over images."""
    logs = -LOGITS.log_softmax(1)
    expected = (1 - smoothing) * logs[range(3), TARGETS] + smoothing * logs.mean(1)
    if weights is not None:
        expected = weights[TARGETS] * expected
    each = TASK.image_losses(LOGITS, TARGETS, smoothing=smoothing, weights=weights)
    torch.testing.assert_close(each, expected)
    mean = TASK.mean_loss(LOGITS, TARGETS, smoothing=smoothing, weights=weights)
    torch.testing.assert_close(mean, expected.mean())


def test_an_opinion_is_the_likeliest_class_and_counts_for_the_true_one() -> None:
    """With its probability, under the image's number."""
    opinions = TASK.judge_each(LOGITS, TARGETS, torch.tensor([7, 8, 9]))
    assert opinions[["about", "right", "index", "truth", "guess"]].tolist() == [
        (0, True, 7, 0, 0),
        (2, False, 8, 2, 1),
        (2, True, 9, 2, 2),
    ]
    assert opinions["sure"] == pytest.approx(LOGITS.softmax(1).amax(1).numpy())


def test_an_image_is_wrong_if_it_is_taken_for_another_class() -> None:
    """The count is a vector, named as the task says; the log has it in percent, and a warm-up goes by it."""
    (wrong,) = TASK.tally(LOGITS, TARGETS).tolist()
    assert (TASK.tallied, wrong) == (("wrong",), 1)
    assert TASK.describe_tally({"wrong": 3.0}, 12) == {"train_error_percent": 25.0}
    assert TASK.warmup_percent({"wrong": 3.0}, 12) == 25.0


def test_rare_classes_weigh_more() -> None:
    """So that all classes count the same."""
    assert TASK.weigh(np.array([0, 0, 0, 1]), classes=2).tolist() == pytest.approx([4 / 6, 4 / 2])


def test_answers_are_averaged_as_probabilities_and_counted_by_class() -> None:
    """Of views and of networks; what is too much to keep is among what is recorded."""
    views = torch.stack([LOGITS, LOGITS.flip(1)], 1)
    assert torch.equal(TASK.average(views), average_softmax(views))
    meter = TASK.make_meter(outputs=3, images=3, device="cpu")
    assert isinstance(meter, Counts)
    meter.add(LOGITS, TARGETS)
    recorded = meter.read().recorded()
    assert recorded["confusion"] == [[1, 0, 0], [0, 0, 0], [0, 1, 1]]
    assert set(TASK.large) <= recorded.keys()
    assert set(TASK.by_class) <= recorded.keys()
