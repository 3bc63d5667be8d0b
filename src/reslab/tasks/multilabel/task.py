"""The task of several labels per image: every class is a question of its own, answered by a sigmoid.

The loss is the mean binary cross-entropy over classes and images. Smoothing draws 0 and 1 towards a half; balanced
weights make the yes and the no of each class count the same.
"""

from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from reslab.data.balance import weigh_labels
from reslab.errors import UserError
from reslab.spec.recipe import Recipe
from reslab.tasks.averages import average_sigmoid
from reslab.tasks.classification.task import ClassificationTask
from reslab.tasks.gallery import NEITHER, Opinions, form_opinions
from reslab.tasks.multilabel.meter import LabelCounts
from reslab.tasks.multilabel.scores import BY_CLASS, LARGE
from reslab.tasks.multilabel.thresholds import HALF
from reslab.tasks.task import Meter


class MultiLabelTask(ClassificationTask):
    """An image is wrong if any of its labels is."""

    by_class, large = BY_CLASS, LARGE

    def __init__(self, thresholds: tuple[float, ...] | None = None) -> None:
        self.thresholds = thresholds

    def at(self, thresholds: tuple[float, ...] | None) -> Self:
        """Return the task in which an image has a label from the label's own probability on."""
        return type(self)(thresholds)

    def refuse_recipe(self, recipe: Recipe) -> None:
        """Refuse what needs images of one class each."""
        if recipe.sampling == "balanced":
            raise UserError(
                "recipe.sampling=balanced needs images of one class each, but these have several labels; "
                "use recipe.class_weights=balanced"
            )

    def weigh(self, targets: NDArray[Any], *, classes: int) -> NDArray[Any]:
        """Return what the no and the yes of each class count."""
        return weigh_labels(targets)

    def mean_loss(self, outputs: Tensor, targets: Tensor, *, smoothing: float, weights: Tensor | None) -> Tensor:
        """Return the mean loss of a batch."""
        return self.image_losses(outputs, targets, smoothing=smoothing, weights=weights).mean()

    def image_losses(self, outputs: Tensor, targets: Tensor, *, smoothing: float, weights: Tensor | None) -> Tensor:
        """Return each image's loss, the mean over its classes."""
        smoothed = targets * (1 - smoothing) + smoothing / 2
        weight = None
        if weights is not None:
            no, yes = weights
            weight = torch.where(targets == 1, yes, no)
        return F.binary_cross_entropy_with_logits(outputs, smoothed, weight, reduction="none").mean(1)

    def mistakes(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return of which images any label is wrong, by the labels' own probabilities where they have such."""
        said = outputs >= 0 if self.thresholds is None else outputs.sigmoid() >= outputs.new_tensor(self.thresholds)
        return (said != (targets == 1)).any(1)

    def average(self, outputs: Tensor) -> Tensor:
        """Average the sigmoid."""
        return average_sigmoid(outputs)

    def judge_each(self, outputs: Tensor, targets: Tensor, indices: Tensor) -> Opinions:
        """Return what is thought of each label of each image; that a label is rightly absent is no hit."""
        sure, truths = outputs.float().sigmoid().cpu().numpy(), targets.cpu().numpy() == 1
        guesses = sure >= HALF
        rows, labels = np.nonzero(guesses | truths)
        sure, truths, guesses = (part[rows, labels] for part in (sure, truths, guesses))
        return form_opinions(
            about=labels,
            right=guesses == truths,
            sure=np.where(guesses, sure, 1 - sure),
            index=indices.numpy()[rows],
            truth=np.where(truths, labels, NEITHER),
            guess=np.where(guesses, labels, NEITHER),
        )

    def make_meter(self, *, outputs: int, images: int, device: torch.device | str, first: int = 0) -> Meter:
        """Return what keeps the scores of every image."""
        return LabelCounts(images=images, classes=outputs, device=device, first=first, thresholds=self.thresholds)


TASK = MultiLabelTask()
