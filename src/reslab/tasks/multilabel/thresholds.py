"""The probability from which an image has a label, chosen for each: where the F1 on images held out is greatest.

A half is right for labels that are as often there as not, and for networks that are sure; of a rare label it finds few.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reslab.tasks.multilabel.meter import f1_percent

HALF = 0.5  # a label whose probability is just that is there


@dataclass(frozen=True, kw_only=True)
class TunedLabel:
    """A label with its threshold, and its F1 at a half and at that on images that it was not tuned on.

    `images` is how many of these have it; where none has, and it is found in none, there is no F1.
    """

    name: str
    threshold: float
    images: int
    f1_before_percent: float | None
    f1_percent: float | None


def tune(probabilities: NDArray[np.float64], truths: NDArray[np.bool_]) -> float:
    """Return the threshold of the greatest F1, halfway between two images; a half where no image has the label.

    Of several that are as good the nearest to a half is taken.
    """
    if not truths.any():
        return HALF
    values = np.unique(probabilities)
    between = (values[1:] + values[:-1]) / 2
    candidates = np.concatenate([[HALF, values[0] / 2], between])
    order = np.argsort(probabilities)
    below = np.searchsorted(probabilities[order], candidates)  # how many images each leaves out
    found = truths.sum() - np.concatenate([[0], np.cumsum(truths[order])])[below]
    scores = 100 * 2 * found / (len(truths) - below + truths.sum())
    best = candidates[scores >= scores.max() - 1e-9]
    return float(best[np.abs(best - HALF).argmin()])


def describe_label(
    name: str, threshold: float, probabilities: NDArray[np.float64], truths: NDArray[np.bool_]
) -> TunedLabel:
    """Return how a label is found at its threshold, on images that this was not tuned on."""
    return TunedLabel(
        name=name,
        threshold=threshold,
        images=int(truths.sum()),
        f1_before_percent=f1_percent(probabilities >= HALF, truths),
        f1_percent=f1_percent(probabilities >= threshold, truths),
    )
