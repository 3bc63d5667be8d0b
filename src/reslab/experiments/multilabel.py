"""The task of several labels per image: every class is a question of its own, answered by a sigmoid.

The loss is the mean binary cross-entropy over classes and images. Smoothing draws 0 and 1 towards a half; balanced
weights make the yes and the no of each class count the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from reslab.errors import UserError
from reslab.evaluation.multilabel import LabelCounts
from reslab.experiments.photos import PhotoTask
from reslab.spec.trial import Trial


@dataclass(frozen=True, kw_only=True)
class MultiLabelTask(PhotoTask):
    """A trial on photographs with any number of labels each; an image is wrong if any of its labels is."""

    def mean_loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the mean loss of a batch."""
        return self.image_losses(logits, labels).mean()

    def image_losses(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return each image's loss, the mean over its classes."""
        smoothing = self.trial.recipe.label_smoothing
        targets = labels * (1 - smoothing) + smoothing / 2
        weight = None
        if self.class_weights is not None:
            no, yes = self.class_weights
            weight = torch.where(labels == 1, yes, no)
        return F.binary_cross_entropy_with_logits(logits, targets, weight, reduction="none").mean(1)

    def count_wrong(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return of how many images any label is wrong."""
        return ((logits > 0) != (labels == 1)).any(1).sum()

    def make_counts(self, device: torch.device) -> LabelCounts:
        """Return what adds up the test images of this process's share."""
        images = len(self.batches.dataset.test)
        first = self.processes.share(images).start
        return LabelCounts(images=images, classes=self.trial.network.classes, device=device, first=first)


def refuse_single_label_recipe(trial: Trial) -> None:
    """Refuse what needs images of one class each."""
    if trial.recipe.sampling == "balanced":
        raise UserError(
            "recipe.sampling=balanced needs images of one class each, and these have several labels; "
            "use recipe.class_weights=balanced"
        )
