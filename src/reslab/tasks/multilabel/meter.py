"""How well images are found by their labels: average precision of each, their mean, over every image exactly once.

Sorted by the score of a label, precision is the share of images so far that have it, recall the share of those that
have it so far; average precision is the sum of precision times the rise of recall, images of one score together
(scikit-learn's `average_precision_score`). A label that no image has is left out of the mean. An image whose logits are
not finite is wrong, comes last, and is counted: whoever shows scores refuses them then.
"""

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from reslab.errors import UserError
from reslab.networks.finite import rows_not_finite
from reslab.runtime.processes import Processes


@dataclass(frozen=True)
class LabelScores:
    """How a network of several labels did on `images`; `error_percent` counts those with any label wrong.

    An image has a label from a half on, or from the network's own threshold for it. `loss` is the mean cross-entropy of
    a label; `class_positives` are the images that have each; `not_finite` counts those whose logits are not finite.
    """

    LOGGED: ClassVar = ("loss", "error_percent", "map_percent")

    images: int
    error_percent: float
    map_percent: float
    loss: float
    class_average_precision_percent: list[float | None]
    class_positives: list[int]
    not_finite: int = 0

    @property
    def above_chance(self) -> float:
        """How far the precision is from chance (0), which ranks images in any order, to the truth (1)."""
        shares = [count / self.images for count in self.class_positives if count]
        chance = sum(shares) / len(shares)
        return (self.map_percent / 100 - chance) / (1 - chance) if chance < 1 else 1.0

    def logged(self) -> dict[str, float]:
        """Return what a log has of a test."""
        return {name: getattr(self, name) for name in self.LOGGED}

    def recorded(self) -> dict[str, Any]:
        """Return what they scored as plain data."""
        plain = asdict(self)
        del plain["images"], plain["not_finite"]
        return plain


class LabelCounts:
    """The scores of `images` images, on the device they are on, those from `first` on being added here."""

    def __init__(
        self,
        *,
        images: int,
        classes: int,
        device: torch.device | str,
        first: int = 0,
        thresholds: tuple[float, ...] | None = None,
    ) -> None:
        self.logits = torch.zeros(images, classes, device=device)
        self.labels = torch.zeros(images, classes, dtype=torch.uint8, device=device)
        self.seen = torch.zeros(images, dtype=torch.uint8, device=device)
        self.first = self.next = first
        self.thresholds = thresholds

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """What is kept: of disjoint sets of images, each adds up."""
        return self.logits, self.labels, self.seen

    @torch.no_grad()
    def add(self, outputs: Tensor, targets: Tensor) -> None:
        """Keep a batch; nothing here waits for the device."""
        here = slice(self.next, self.next + len(targets))
        self.logits[here], self.labels[here], self.seen[here] = outputs.float(), targets, 1
        self.next += len(targets)

    def clear(self) -> None:
        """Keep nothing, and begin again."""
        for tensor in self.tensors:
            tensor.zero_()
        self.next = self.first

    def merge(self, processes: Processes) -> None:
        """Keep what other processes have kept too."""
        processes.sum(*self.tensors)

    def _answer(self, logits: Tensor) -> Tensor:
        """Return which labels images are said to have: from a half, or a label's own threshold, on."""
        return logits >= 0 if self.thresholds is None else logits.sigmoid() >= torch.tensor(self.thresholds)

    def read(self) -> LabelScores:
        """Wait for the device and return the scores."""
        seen = self.seen.bool()  # bad images may be missing
        logits, labels = self.logits[seen].double().cpu(), self.labels[seen].cpu()
        bad = rows_not_finite(logits)
        ranked = logits.masked_fill(bad[:, None], torch.finfo(logits.dtype).min)
        precisions = [
            average_precision(scores, truths)
            for scores, truths in zip(ranked.T.numpy(), labels.T.numpy() == 1, strict=True)
        ]
        known = [precision for precision in precisions if precision is not None]
        if not known:
            raise UserError("no test image has a label, so precision cannot be computed; test on other images")
        return LabelScores(
            images=len(logits),
            error_percent=100 * (bad | (self._answer(logits) != (labels == 1)).any(1)).double().mean().item(),
            map_percent=100 * sum(known) / len(known),
            loss=F.binary_cross_entropy_with_logits(logits, labels.double()).item(),
            class_average_precision_percent=[None if one is None else 100 * one for one in precisions],
            class_positives=labels.sum(0).tolist(),
            not_finite=int(bad.sum()),
        )


def f1_percent(answers: NDArray[np.bool_], truths: NDArray[np.bool_]) -> float | None:
    """Return the harmonic mean of a label's precision and recall; None where no image has it, nor is said to."""
    found, wrong = np.sum(answers & truths), np.sum(answers != truths)
    return float(100 * 2 * found / (2 * found + wrong)) if found + wrong else None


def average_precision(scores: NDArray[np.float64], truths: NDArray[np.bool_]) -> float | None:
    """Return the average precision of a label's scores; None where no image has it."""
    if not truths.any():
        return None
    order = np.argsort(-scores, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)  # of images of one score
    found = np.cumsum(truths[order])[ends]
    return float(np.sum(np.diff(found, prepend=0) / found[-1] * (found / (ends + 1))))
