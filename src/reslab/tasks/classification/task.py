"""The task of one class per image: cross-entropy, smoothed or weighed where the recipe asks for it."""

from collections.abc import Mapping
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from reslab.data.balance import weigh_classes
from reslab.tasks.averages import average_softmax
from reslab.tasks.classification.meter import Counts
from reslab.tasks.classification.scores import BY_CLASS, LARGE
from reslab.tasks.gallery import Opinions, form_opinions
from reslab.tasks.output_task import OutputTask
from reslab.tasks.task import Meter


class ClassificationTask(OutputTask):
    """An image is wrong if it is taken for another class."""

    tallied = ("wrong",)
    by_class, large = BY_CLASS, LARGE

    def weigh(self, targets: NDArray[Any], *, classes: int) -> NDArray[Any]:
        """Return what an image of each class counts."""
        return weigh_classes(targets, classes=classes)

    def mean_loss(self, outputs: Tensor, targets: Tensor, *, smoothing: float, weights: Tensor | None) -> Tensor:
        """Return the mean loss of a batch."""
        if weights is not None:
            return self.image_losses(outputs, targets, smoothing=smoothing, weights=weights).mean()
        return F.cross_entropy(outputs, targets, label_smoothing=smoothing)

    def image_losses(self, outputs: Tensor, targets: Tensor, *, smoothing: float, weights: Tensor | None) -> Tensor:
        """Return each image's cross-entropy, as often as its class counts.

        Their mean divides by the images, not by the weights of those at hand, so parts of a batch and processes add
        up to the whole.
        """
        losses = F.cross_entropy(outputs, targets, label_smoothing=smoothing, reduction="none")
        return losses if weights is None else weights[targets] * losses

    def mistakes(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return which images are taken for another class."""
        return outputs.argmax(1) != targets

    def tally(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return how many images were wrong, as a vector of one."""
        return self.mistakes(outputs, targets).sum(0, keepdim=True)

    def describe_tally(self, sums: Mapping[str, float], images: int) -> dict[str, float]:
        """Return the training error."""
        return {"train_error_percent": self.warmup_percent(sums, images)}

    def warmup_percent(self, sums: Mapping[str, float], images: int) -> float:
        """Return the share of images that were wrong."""
        return 100 * sums["wrong"] / images

    def average(self, outputs: Tensor) -> Tensor:
        """Average the softmax."""
        return average_softmax(outputs)

    def judge_each(self, outputs: Tensor, targets: Tensor, indices: Tensor) -> Opinions:
        """Return the class that each image is taken for; it counts for the true class."""
        sure, guesses = (part.cpu().numpy() for part in outputs.float().softmax(1).max(1))
        truths = targets.cpu().numpy()
        return form_opinions(
            about=truths, right=guesses == truths, sure=sure, index=indices.numpy(), truth=truths, guess=guesses
        )

    def make_meter(self, *, outputs: int, images: int, device: torch.device | str, first: int = 0) -> Meter:
        """Return what counts images by truth and guess."""
        return Counts(classes=outputs, device=device)


TASK = ClassificationTask()
