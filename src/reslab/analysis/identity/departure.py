"""How far a network has gone from an earlier one of its run: its weights, its outputs and its errors.

Of a run that starts at a constructed solution (paper, section 1), that says whether SGD stays there.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from reslab.analysis.anatomy import Anatomy
from reslab.analysis.identity.comparing import compare
from reslab.analysis.streaming import Floats, mean_and_error
from reslab.networks import Network
from reslab.tasks.subject import Subject

QUANTITIES = ("outputs", "loss", "loss_then", "wrong", "wrong_then", "judged_otherwise")


@torch.no_grad()
def compare_outputs(subject: Subject, outputs: Tensor, then: Tensor, targets: Tensor) -> Tensor:
    """Return the sums over a batch of each quantity and its square, (quantities, 2).

    They are the relative length of what changed in the outputs, losses and mistakes of both networks, and whether an
    image is judged otherwise.
    """
    outputs, then = outputs.float(), then.float()
    wrong, wrong_then = (subject.wrong(values, targets).double() for values in (outputs, then))
    change, _ = compare(then, outputs)
    losses = [subject.losses(values, targets).double() for values in (outputs, then)]
    values = torch.stack([change, *losses, wrong, wrong_then, (wrong != wrong_then).double()])
    return torch.stack([values.sum(1), values.square().sum(1)], 1)


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


def tell_departure(sums: Floats, images: int, *, step: int, weights: float, width: float) -> Mapping[str, Any]:
    """Return what is told of it: means over images with their intervals."""
    means, errors = mean_and_error(sums[:, 0], sums[:, 1], images, width=width)
    told: dict[str, Any] = {"step": step, "weights": weights}
    for name, mean, error in zip(QUANTITIES, means.tolist(), errors.tolist(), strict=True):
        told |= {name: mean, f"{name}_error": error}
    return told
