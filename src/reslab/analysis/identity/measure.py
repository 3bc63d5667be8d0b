"""How far each block is from the identity, near which optimal functions may be (paper, section 3.1).

A block is compared with what it would give without its branch: the identity, or what is left where dimensions change.
For each image: how long what the block changes is, relative to that; the cosine of both; and how long the branch F(x)
itself is, relative to the shortcut. Over all images: how much a linear map of the channels explains. Beside an earlier
network of the run: how far weights and outputs have gone from it.
"""

import contextlib
from statistics import NormalDist
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reslab.analysis.anatomy import Anatomy, Part, take_apart
from reslab.analysis.catalogue import Instrument
from reslab.analysis.identity.comparing import compare
from reslab.analysis.identity.departure import compare_outputs, compare_parts, compare_weights, tell_departure
from reslab.analysis.identity.linearity import explain_linearly, multiply
from reslab.analysis.identity.settings import Identity
from reslab.analysis.norms import normalizing
from reslab.analysis.snapshots import load_snapshot
from reslab.analysis.streaming import mean_and_error, sum_over_images, tell_means
from reslab.analysis.workbench import Workbench
from reslab.networks.blocks import Block
from reslab.networks.finite import tell_not_finite
from reslab.tasks.subject import Subject

QUANTITIES = ("change", "cosine", "branch")
UNEXPLAINED: dict[str, float | None] = {"linear_share": None, "output_linear_share": None}
LOGITS = "logits"
WIDEST = 512  # channels for which a linear map is fitted: its sums are the square of that


@torch.no_grad()
def compare_blocks(anatomy: Anatomy, images: Tensor, *, linear: bool = False) -> dict[str, Tensor]:
    """Return the sums over a batch: of each quantity and its square, (blocks, 3, 2), and what linear maps need.

    With them come the logits, and for how many images each block is given nothing but zeros and makes something of
    them: relative to that nothing can be said, and they are not in the sums.
    """
    x = anatomy.before(images)
    quantities: list[Tensor] = []
    left_out: list[Tensor] = []
    products: dict[str, Tensor] = {}
    for index, part in enumerate(anatomy.parts):
        x = anatomy.enter(index, x)
        without, y = part.bypass(x), part.module(x)
        values = torch.stack([*compare(without, y), _branch_ratio(part, x)])
        void = (without.flatten(1) == 0).all(1) & values[0].isinf()
        values[:, void] = 0.0
        left_out.append(void.sum())
        quantities.append(torch.stack([values.sum(1), values.square().sum(1)], 1))
        if linear and y.shape[1] <= WIDEST:
            products[f"{part.name}.products"] = multiply(without, y - without)
        x = y
    sums = {"quantities": torch.stack(quantities), "left_out": torch.stack(left_out)}
    return {**sums, **products, LOGITS: anatomy.after(x)}


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
    then = None if settings.since is None else load_snapshot(subject, settings.since)

    @torch.no_grad()
    def add(inputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
        sums = compare_blocks(anatomy, inputs, linear=settings.linear)
        logits = sums.pop(LOGITS)
        return sums if then is None else sums | compare_outputs(subject, logits, then(inputs), targets)

    with normalizing(network, settings.norms), contextlib.ExitStack() as stack:
        if then is not None:
            stack.enter_context(normalizing(then, settings.norms))
        sums, images = sum_over_images(subject, settings, workbench, add, batch=settings.batch, part="blocks")
    quantities = sums["quantities"]
    if not np.isfinite(quantities[:, :2]).all():
        raise tell_not_finite(network, "for some images", what="activations")
    width = NormalDist().inv_cdf((1 + settings.confidence) / 2)
    told_of = [images - int(number) for number in sums["left_out"]]
    spreads = [
        mean_and_error(rows[:, 0], rows[:, 1], number, width=width)
        for rows, number in zip(quantities, told_of, strict=True)
    ]
    moved = [None] * len(anatomy.parts) if then is None else compare_parts(anatomy, take_apart(then))
    blocks = [
        {
            "name": part.name,
            "stage": part.stage,
            "compared_with": part.left,
            **tell_means(QUANTITIES, *spreads[index]),
            **({} if told_of[index] == images else {"left_out": images - told_of[index]}),
            **(explain_linearly(sums[key]) if (key := f"{part.name}.products") in sums else UNEXPLAINED),
            **({} if then is None else {"weights_moved": moved[index]}),
        }
        for index, part in enumerate(anatomy.parts)
    ]
    found = {
        "images": images,
        "skipped_images": subject.count(settings.on, settings.images) - images,
        "blocks": blocks,
    }
    if then is None or settings.since is None:
        return found
    gone = compare_weights(network, then)
    return found | {"since": tell_departure(sums, images, step=settings.since, weights=gone, width=width)}


INSTRUMENT = Instrument(settings=Identity, measure=_measure)
