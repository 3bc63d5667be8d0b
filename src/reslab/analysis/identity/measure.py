"""How far each block is from the identity, near which optimal functions may be (paper, section 3.1).

A block is compared with what it would give without its branch: the identity, or what is left where dimensions change.
For each image: how long what the block changes is, relative to that; the cosine of both; and how long the branch F(x)
itself is, relative to the shortcut. Over all images: how much a linear map of the channels explains.
"""

from statistics import NormalDist
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reslab.analysis.anatomy import Anatomy, Part, take_apart
from reslab.analysis.catalogue import Instrument
from reslab.analysis.identity.linearity import explain_linearly, multiply
from reslab.analysis.identity.settings import Identity
from reslab.analysis.norms import normalizing
from reslab.analysis.streaming import Floats, mean_and_error, sum_over_images
from reslab.analysis.workbench import Workbench
from reslab.networks.blocks import Block
from reslab.networks.finite import tell_not_finite
from reslab.tasks.subject import Subject

QUANTITIES = ("change", "cosine", "branch")
UNEXPLAINED: dict[str, float | None] = {"linear_share": None, "output_linear_share": None}
WIDEST = 512  # channels for which a linear map is fitted: its sums are the square of that


@torch.no_grad()
def compare_blocks(anatomy: Anatomy, images: Tensor, *, linear: bool = False) -> dict[str, Tensor]:
    """Return the sums over a batch: of each quantity and its square, (blocks, 3, 2), and what linear maps need."""
    x = anatomy.before(images)
    quantities: list[Tensor] = []
    products: dict[str, Tensor] = {}
    for index, part in enumerate(anatomy.parts):
        x = anatomy.enter(index, x)
        without, y = part.bypass(x), part.module(x)
        values = torch.stack([*compare(without, y), _branch_ratio(part, x)])
        quantities.append(torch.stack([values.sum(1), values.square().sum(1)], 1))
        if linear and y.shape[1] <= WIDEST:
            products[f"{part.name}.products"] = multiply(without, y - without)
        x = y
    return {"quantities": torch.stack(quantities), **products}


def compare(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return for each image the length of y - x relative to x, and the cosine of x and y, in float64.

    Maps that are equal differ by nothing and have the cosine one, even where both are zero.
    """
    x, y = x.double().flatten(1), y.double().flatten(1)
    length, other = x.norm(dim=1), y.norm(dim=1)
    difference = (y - x).norm(dim=1)
    same = difference == 0
    change = torch.where(same, 0.0, difference / length)
    return change, torch.where(same, 1.0, (x * y).sum(1) / (length * other))


def _branch_ratio(part: Part, x: Tensor) -> Tensor:
    """Return for each image the length of F(x) relative to the shortcut's; NaN where there is no addition."""
    block = part.module
    if not isinstance(block, Block) or block.shortcut is None or block.gate is not None:
        return x.new_full((len(x),), torch.nan, dtype=torch.float64)
    if block.preactivation is not None:
        x = block.preactivation(x)
    residual, shortcut = (tensor.double().flatten(1).norm(dim=1) for tensor in (block.residual(x), block.shortcut(x)))
    return torch.where(residual == 0, 0.0, residual / shortcut)


def _measure(subject: Subject, settings: Identity, workbench: Workbench) -> dict[str, Any]:
    network = subject.network.eval()
    anatomy = take_apart(network)
    with normalizing(network, settings.norms):
        sums, images = sum_over_images(
            subject,
            settings,
            workbench,
            lambda inputs, _: compare_blocks(anatomy, inputs, linear=settings.linear),
            batch=settings.batch,
            part="blocks",
        )
    quantities = sums["quantities"]
    if not np.isfinite(quantities[:, :2]).all():
        raise tell_not_finite(network, "for some images", what="activations")
    width = NormalDist().inv_cdf((1 + settings.confidence) / 2)
    means, errors = mean_and_error(quantities[..., 0], quantities[..., 1], images, width=width)
    blocks = [
        {
            "name": part.name,
            "stage": part.stage,
            "compared_with": part.left,
            **_tell(means[index], errors[index]),
            **(explain_linearly(sums[key]) if (key := f"{part.name}.products") in sums else UNEXPLAINED),
        }
        for index, part in enumerate(anatomy.parts)
    ]
    return {
        "images": images,
        "skipped_images": subject.count(settings.on, settings.images) - images,
        "blocks": blocks,
    }


def _tell(means: Floats, errors: Floats) -> dict[str, float | None]:
    told: dict[str, float | None] = {}
    for name, mean, error in zip(QUANTITIES, means.tolist(), errors.tolist(), strict=True):
        told |= {name: mean, f"{name}_error": error} if np.isfinite(mean) else {name: None, f"{name}_error": None}
    return told


INSTRUMENT = Instrument(settings=Identity, measure=_measure)
