"""Many lesions of one network at once: rows that begin alike are computed once as far as they are alike.

Of each lesion six sums over images are kept in float64: loss and wrong, how much more of both than the intact network
has on the same image, and the squares of that.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from reslab.analysis.anatomy import Anatomy
from reslab.analysis.lesions.plans import Lesion, Place

Judge = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]  # each image's loss, and by how much it is wrong


@dataclass(frozen=True)
class Surgeon:
    """A network taken apart, with blocks in reserve to be put in the place of trained ones."""

    anatomy: Anatomy
    reserve: Mapping[int, nn.Module]

    def operate(self, lesions: Sequence[Lesion], images: Tensor) -> Iterator[tuple[int, Tensor]]:
        """Yield the index of each lesion with the logits it gives, in the order in which least is computed twice."""
        rows = sorted((lesion.row, index) for index, lesion in enumerate(lesions))
        known = [self.anatomy.before(images)]  # what enters each place of the row before
        before: tuple[Place, ...] = ()
        for row, index in rows:
            alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(row, before, strict=False)))
            del known[alike + 1 :]
            for number in range(alike, len(row)):
                known.append(self._do(number, row[number], known[number]))
            before = row
            yield index, self.anatomy.after(known[-1])

    def _do(self, number: int, place: Place, x: Tensor) -> Tensor:
        part, x = self.anatomy.parts[place.block], self.anatomy.enter(number, x)
        if place.deed == "skip":
            return part.bypass(x)
        return self.reserve[place.block](x) if place.deed == "reset" else part.module(x)


@torch.no_grad()
def sum_batch(surgeon: Surgeon, lesions: Sequence[Lesion], images: Tensor, targets: Tensor, judge: Judge) -> Tensor:
    """Return the six sums of each lesion over a batch; the first lesion is that of nothing."""
    sums = torch.zeros(len(lesions), 6, dtype=torch.float64, device=images.device)
    whole: Tensor | None = None
    judged: dict[int, Tensor] = {}
    for index, logits in surgeon.operate(lesions, images):
        judged[index] = torch.stack([values.double() for values in judge(logits.float(), targets)])
        whole = judged[index] if index == 0 else whole
    assert whole is not None
    for index, values in judged.items():
        more = values - whole
        sums[index] = torch.cat([values.sum(1), more.sum(1), more.square().sum(1)])
    return sums


@dataclass(frozen=True)
class Damage:
    """Mean loss and wrong share of each lesion, how much more than intact, and half the width of that's interval."""

    loss: NDArray[np.float64]
    wrong: NDArray[np.float64]
    more_loss: NDArray[np.float64]
    more_wrong: NDArray[np.float64]
    loss_error: NDArray[np.float64]
    wrong_error: NDArray[np.float64]


def sum_up(sums: NDArray[np.float64], images: int, *, width: float) -> Damage:
    """Return what the sums say; intervals are `width` standard errors of paired differences to either side.

    The loss of a network that a lesion lets overflow is not finite.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        means = sums / images
        variances = np.maximum(means[:, 4:] - means[:, 2:4] ** 2, 0)
        errors = width * np.sqrt(variances / max(1, images - 1))
    return Damage(*means[:, :4].T, *errors.T)
