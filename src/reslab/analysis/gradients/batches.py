"""Gradients batch by batch: norms, variances, and the cosines of the gradients of different batches.

As many gradients as a group has are held at once; batches are compared within their group. A group is a part to resume
from.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reslab.analysis.gradients.passes import Pass
from reslab.analysis.workbench import Workbench

GROUP = 8
Floats = NDArray[np.float64]
Batch = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class BatchGradients:
    """What was measured of all batches.

    `forward` and `backward` are (batches, layers), `norms` (batches, layers and all parameters), and there is a table
    of `cosines` (layers and all parameters, members, members) for each group.
    """

    forward: Floats
    backward: Floats
    norms: Floats
    cosines: list[Floats]


def gather(
    batches: Iterable[Batch], run: Callable[[Batch], Pass], *, count: int, workbench: Workbench
) -> BatchGradients:
    """Run every one of `count` batches, group by group; a group that was kept is not run again."""
    groups = split_evenly(count)
    parts: list[Mapping[str, NDArray[Any]]] = []
    remaining = iter(batches)
    done = 0
    with workbench.listener.enter("gradients", count) as progress:
        for number, size in enumerate(groups):
            kept = workbench.resume(f"group-{number}")
            passes: list[Pass] = []
            for batch in islice(remaining, size):
                if kept is None:
                    passes.append(run(batch))
                done += 1
                progress(done, {})
            if kept is None:
                kept = _sum_up(passes)
                workbench.keep(f"group-{number}", kept)
            parts.append(kept)
    joined = {name: np.concatenate([part[name] for part in parts]) for name in ("forward", "backward", "norms")}
    return BatchGradients(**joined, cosines=[part["cosines"] for part in parts])


def split_evenly(count: int) -> list[int]:
    """Return the sizes of as few groups as hold so many batches, alike give or take one."""
    groups = -(-count // GROUP)
    return [count * (number + 1) // groups - count * number // groups for number in range(groups)]


def _sum_up(passes: Sequence[Pass]) -> dict[str, Floats]:
    forward, backward = (torch.stack([getattr(one, part) for one in passes]) for part in ("forward", "backward"))
    products = torch.stack([_multiply(vectors) for vectors in zip(*(one.gradients for one in passes), strict=True)])
    whole = products.sum(0, keepdim=True)
    tables = torch.cat([products[:-1], whole])  # the last one's parameters count in the whole alone
    norms = tables.diagonal(dim1=1, dim2=2).clamp_min(0).sqrt()
    scale = norms.clamp_min(torch.finfo(norms.dtype).tiny)
    found = {
        "forward": forward,
        "backward": backward,
        "norms": norms.T,
        "cosines": tables / scale[:, :, None] / scale[:, None],
    }
    return {name: tensor.cpu().numpy() for name, tensor in found.items()}


def _multiply(vectors: Sequence[Tensor]) -> Tensor:
    """Return the products of every two vectors, in float64."""
    table = torch.stack(list(vectors)).double()
    return table @ table.T
