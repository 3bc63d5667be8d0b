"""The loss of labelled images, by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
import torch
from tests.experiments.faults import make_trial
from torch import Tensor

from reslab.experiments.labelled import LabelledTask
from reslab.networks.execution import EAGER
from reslab.spec import Preprocess

LOGITS = torch.tensor([[2.0, 0.0], [0.0, 1.0]])
IMAGES, LABELS = torch.zeros(2, 3, 8, 8), torch.tensor([0, 1])


class Fixed(torch.nn.Module):
    """Says the same of every two images."""

    def weighted_logits(self, x: Tensor) -> list[tuple[float, Tensor]]:
        return [(1.0, LOGITS[: len(x)])]


@dataclass(frozen=True, kw_only=True)
class Bare(LabelledTask):
    """A task without images of its own."""

    @property
    def image_shape(self) -> tuple[int, ...]:
        return (3, 8, 8)

    @property
    def preprocess(self) -> Preprocess:
        raise NotImplementedError

    @property
    def mean_image(self) -> Tensor | None:
        return None

    def load(self, step: int, count: int) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def name_images(self, step: int) -> str:
        raise NotImplementedError

    @property
    def num_training_images(self) -> int:
        return 0

    def test_batches(self) -> Iterator[tuple[Tensor, Tensor]]:
        return iter(())


def find_loss(task: LabelledTask, *batch: Tensor) -> tuple[float, int]:
    loss, wrong = task.loss(Fixed(), batch)  # pyright: ignore[reportArgumentType]
    return loss.item(), int(wrong)


def make_bare(*, smoothing: float, class_weights: Tensor | None = None) -> Bare:
    trial = make_trial()
    recipe = replace(trial.recipe, label_smoothing=smoothing)
    return Bare(trial=replace(trial, recipe=recipe), execution=EAGER, class_weights=class_weights)


def test_mixed_labels_share_the_loss() -> None:
    """The share of each label's cross-entropy; an image is wrong by its own label."""
    task = make_bare(smoothing=0.0)
    losses = -torch.log_softmax(LOGITS, 1)
    mixed = find_loss(task, IMAGES, torch.tensor([0, 0]), torch.tensor([1, 0]), torch.tensor([0.7, 0.7]))
    expected = (0.7 * losses[0, 0] + 0.3 * losses[0, 1] + losses[1, 0]) / 2
    assert mixed == (pytest.approx(expected.item()), 1)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_weights_of_classes_weigh_each_labels_loss(smoothing: float) -> None:
    """Mixed and not, whatever is smoothed; the mean is over images, so a part of a batch is its part of the sum."""
    weights = torch.tensor([0.6, 5.0])
    task = make_bare(smoothing=smoothing, class_weights=weights)
    logs = -torch.log_softmax(LOGITS, 1)
    losses = (1 - smoothing) * logs + smoothing * logs.mean(1, keepdim=True)
    others = LABELS.flip(0)
    own, other = (weights[labels] * losses[[0, 1], labels] for labels in (LABELS, others))
    assert find_loss(task, IMAGES, LABELS) == (pytest.approx(own.mean().item()), 0)
    assert find_loss(task, IMAGES[:1], LABELS[:1]) == (pytest.approx(own[0].item()), 0)
    loss, _ = find_loss(task, IMAGES, LABELS, others, torch.tensor([0.7, 0.7]))
    assert loss == pytest.approx((0.7 * own + 0.3 * other).mean().item())
