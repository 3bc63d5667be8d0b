"""Top-1 and top-5 error, overall and a class, and the confusion matrix, over every image exactly once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from reslab.networks import Network


@dataclass(frozen=True)
class Scores:
    """How a classifier did. `confusion[truth][guess]` counts images."""

    error_percent: float
    top5_error_percent: float
    loss: float
    confusion: list[list[int]]

    @property
    def class_error_percent(self) -> list[float]:
        """The error among the images of each class; zero for a class without images."""
        return [100 * (1 - row[truth] / sum(row)) if sum(row) else 0.0 for truth, row in enumerate(self.confusion)]


@torch.no_grad()
def score(network: Network, batches: Iterable[tuple[Tensor, Tensor]], *, classes: int) -> Scores:
    """Score `network`, as its mode is, on batches of prepared images and labels."""
    confusion = torch.zeros(classes * classes, dtype=torch.long)
    count, beyond_five, loss = 0, 0, 0.0
    for images, labels in batches:
        logits = network(images).float()
        guesses = logits.topk(min(5, classes), dim=1).indices
        confusion += torch.bincount((labels * classes + guesses[:, 0]).cpu(), minlength=classes * classes)
        beyond_five += int((guesses != labels[:, None]).all(1).sum())
        loss += torch.nn.functional.cross_entropy(logits, labels, reduction="sum").item()
        count += len(labels)
    table = confusion.reshape(classes, classes)
    wrong = count - int(table.diagonal().sum())
    return Scores(100 * wrong / count, 100 * beyond_five / count, loss / count, table.tolist())
