"""How far a network has gone from an earlier one of its run: its weights, its outputs and its errors.

Of a run that starts at a constructed solution (paper, section 1), that says whether SGD stays there.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from reslab.analysis.anatomy import Anatomy
from reslab.analysis.identity.comparing import compare
from reslab.analysis.streaming import Floats, mean_and_error, tell_means
from reslab.networks import Network
from reslab.tasks.subject import Subject

QUANTITIES = ("outputs", "loss", "loss_then", "wrong", "wrong_then", "judged_otherwise")
SINCE, LEFT_OUT = "since", "since_left_out"


@torch.no_grad()
def compare_outputs(subject: Subject, outputs: Tensor, then: Tensor, targets: Tensor) -> dict[str, Tensor]:
    """Return the sums over a batch of each quantity and its square, (quantities, 2), and how many images are left out.

    They are the relative length of what changed in the outputs, losses and mistakes of both networks, and whether an
    image is judged otherwise. Relative to outputs that were nothing but zeros, no change has a length: such an image
    is left out of the first.
    """
    outputs, then = outputs.float(), then.float()
    wrong, wrong_then = (subject.wrong(values, targets).double() for values in (outputs, then))
    change, _ = compare(then, outputs)
    void = (then.flatten(1) == 0).all(1) & change.isinf()
    change[void] = 0.0
    losses = [subject.losses(values, targets).double() for values in (outputs, then)]
    values = torch.stack([change, *losses, wrong, wrong_then, (wrong != wrong_then).double()])
    return {SINCE: torch.stack([values.sum(1), values.square().sum(1)], 1), LEFT_OUT: void.sum()}


def compare_weights(network: Network, then: Network) -> float:
    """Return how long what changed in all trained weights is, relative to the weights."""
    return _distance(zip(network.parameters(), then.parameters(), strict=True))


def compare_parts(now: Anatomy, then: Anatomy) -> list[float]:
    """Return the same of each block's weights."""
    pairs = zip(now.parts, then.parts, strict=True)
    return [_distance(zip(one.module.parameters(), other.module.parameters(), strict=True)) for one, other in pairs]


@torch.no_grad()
def _distance(pairs: Iterable[tuple[nn.Parameter, nn.Parameter]]) -> float:
    squares = [((now.double() - then.double()).square().sum(), then.double().square().sum()) for now, then in pairs]
    moved, length = (float(sum(each[place] for each in squares)) for place in (0, 1))
    return (moved / length) ** 0.5 if length else 0.0


def tell_departure(
    sums: Mapping[str, Floats], images: int, *, step: int, weights: float, width: float
) -> Mapping[str, Any]:
    """Return what is told of it: means over images with their intervals."""
    left_out = int(sums[LEFT_OUT])
    spreads = [
        mean_and_error(row[:1], row[1:], images - left_out if name == "outputs" else images, width=width)
        for name, row in zip(QUANTITIES, sums[SINCE], strict=True)
    ]
    means, errors = (np.concatenate(one) for one in zip(*spreads, strict=True))
    told = {"step": step, "weights": weights, **tell_means(QUANTITIES, means, errors)}
    return told | ({"left_out": left_out} if left_out else {})
