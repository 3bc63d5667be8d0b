"""Top-1 and top-5 error, overall and per class, confusion and calibration, over every image exactly once.

An image whose logits are not finite is guessed wrong, and counted: whoever shows scores refuses them then.

The expected calibration error sorts guesses into fifteen bins by confidence, the probability of the guess, and averages
what confidence and accuracy differ by in a bin, weighted by its guesses (Guo et al., 2017).
"""

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import torch
from torch import Tensor

from reslab.errors import UserError
from reslab.networks.finite import rows_not_finite
from reslab.runtime.processes import Processes

BINS = 15


@dataclass(frozen=True)
class Scores:
    """How a classifier did. `confusion[truth][guess]` counts images; `loss` is the mean negative log-likelihood.

    `not_finite` counts the images whose logits are not finite.
    """

    LOGGED: ClassVar = ("loss", "error_percent", "top5_error_percent")

    error_percent: float
    top5_error_percent: float
    loss: float
    confusion: list[list[int]]
    ece_percent: float
    mean_confidence_percent: float
    not_finite: int = 0

    @property
    def images(self) -> int:
        """How many images were scored."""
        return sum(map(sum, self.confusion))

    @property
    def class_error_percent(self) -> list[float | None]:
        """The error among the images of each class; None for a class without images."""
        return [100 * (1 - row[truth] / sum(row)) if sum(row) else None for truth, row in enumerate(self.confusion)]

    @property
    def balanced_error_percent(self) -> float | None:
        """The mean of the class errors, each class counting the same; None where all have as many images.

        A class without images is left out.
        """
        if len({sum(row) for row in self.confusion}) == 1:
            return None
        known = [error for error in self.class_error_percent if error is not None]
        return sum(known) / len(known)

    @property
    def above_chance(self) -> float:
        """How far the guesses are from chance (0), which has as many of each class, to the truth (1): Cohen's kappa.

        Of images of one class nothing can be told by it; that counts as the truth.
        """
        truths = [sum(row) for row in self.confusion]
        if len([count for count in truths if count]) == 1:
            return 1.0
        guesses = [sum(column) for column in zip(*self.confusion, strict=True)]
        chance = sum(truth * guess for truth, guess in zip(truths, guesses, strict=True)) / self.images**2
        right = sum(row[truth] for truth, row in enumerate(self.confusion)) / self.images
        return (right - chance) / (1 - chance)

    def logged(self) -> dict[str, float]:
        """Return what a log has of a test."""
        return {name: getattr(self, name) for name in self.LOGGED}

    def recorded(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        plain = {part.name: getattr(self, part.name) for part in fields(self) if part.name != "not_finite"}
        return plain | {
            "class_error_percent": self.class_error_percent,
            "balanced_error_percent": self.balanced_error_percent,
        }


class Counts:
    """What images and labels add up to, on the device they are on, until someone asks for the scores."""

    def __init__(self, *, classes: int, device: torch.device | str) -> None:
        self.classes = classes
        self.confusion = torch.zeros(classes * classes, dtype=torch.long, device=device)
        self.beyond_five = torch.zeros((), dtype=torch.long, device=device)
        self.loss = torch.zeros((), dtype=torch.float64, device=device)
        self.bins = torch.arange(BINS, device=device)
        self.confidence = torch.zeros(BINS, dtype=torch.float64, device=device)
        self.right = torch.zeros(BINS, dtype=torch.long, device=device)
        self.not_finite = torch.zeros((), dtype=torch.long, device=device)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """What is counted: of disjoint sets of images, each adds up."""
        return self.confusion, self.beyond_five, self.loss, self.confidence, self.right, self.not_finite

    @torch.no_grad()
    def add(self, outputs: Tensor, targets: Tensor) -> None:
        """Count a batch; nothing here waits for the device."""
        logits = outputs.float()
        bad = rows_not_finite(logits)
        self.not_finite += bad.sum()
        guesses = logits.topk(min(5, self.classes), dim=1).indices
        right = (guesses == targets[:, None]) & ~bad[:, None]
        cells = targets * self.classes + guesses[:, 0]
        self.confusion.index_add_(0, cells, torch.ones_like(cells))
        self.beyond_five += (~right).all(1).sum()
        self.loss += torch.nn.functional.cross_entropy(logits, targets, reduction="sum")
        confidence = logits.softmax(1).amax(1)
        # Compared and summed rather than scattered: on a GPU that would add in any order.
        inside = ((confidence * BINS).ceil().long() - 1).clamp(0, BINS - 1)[:, None] == self.bins
        self.confidence += (inside * confidence.double()[:, None]).sum(0)
        self.right += (inside & right[:, :1]).sum(0)

    def clear(self) -> None:
        """Count from zero."""
        for tensor in self.tensors:
            tensor.zero_()

    def merge(self, processes: Processes) -> None:
        """Count what other processes have counted too."""
        processes.sum(*self.tensors)

    def read(self) -> Scores:
        """Wait for the device and return the scores."""
        table = self.confusion.reshape(self.classes, self.classes).tolist()
        count = sum(map(sum, table))
        if not count:
            raise UserError("none of the test images can be read; replace them")
        beyond_five, loss = int(self.beyond_five), float(self.loss)
        confidence, right = self.confidence.tolist(), self.right.tolist()
        return Scores(
            error_percent=100 * (count - sum(right)) / count,
            top5_error_percent=100 * beyond_five / count,
            loss=loss / count,
            confusion=table,
            ece_percent=100 * sum(abs(sure - hits) for sure, hits in zip(confidence, right, strict=True)) / count,
            mean_confidence_percent=100 * sum(confidence) / count,
            not_finite=int(self.not_finite),
        )
