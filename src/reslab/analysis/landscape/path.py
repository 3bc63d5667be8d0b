"""The path of a training through weight space: its principal components, and where each snapshot lies on them.

As Li et al. (2018) have it: PCA of the snapshots' distances from the final weights, centred. The components come from
the small matrix of inner products, one parameter at a time, so nothing as large as all snapshots is decomposed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from reslab.analysis.landscape.directions import Tensors
from reslab.analysis.landscape.grid import Floats
from reslab.errors import UserError

LEAST_SHARE = 1e-12  # of the variance: below it a component is rounding


@dataclass(frozen=True)
class Components:
    """Orthonormal directions, the share of variance each explains, and the snapshots' (snapshots, directions)."""

    directions: tuple[dict[str, Tensor], ...]
    shares: tuple[float, ...]
    path: Floats


def find_components(snapshots: Sequence[Tensors], final: Tensors, *, count: int) -> Components:
    """Return the first `count` principal components of `snapshots` minus `final`.

    A component points to where the first snapshot lies on it.
    """
    products = sum((_multiply(_subtract(snapshots, final, name)) for name in final), np.zeros((1, 1)))
    centring = np.eye(len(snapshots)) - 1 / len(snapshots)
    values, vectors = np.linalg.eigh(centring @ products @ centring)
    values, vectors = values[::-1].clip(0), vectors[:, ::-1]
    shares = values / (values.sum() or 1)
    if len(snapshots) <= count or (shares[:count] < LEAST_SHARE).any():
        raise UserError(
            f"the run's path has {len(snapshots)} different weights, too few for {count} directions; train with more "
            "snapshots (`reslab train --snapshots 0.05,0.1,…`), or leave out directions=pca"
        )
    mixed = centring @ vectors[:, :count] / np.sqrt(values[:count])
    path = products @ mixed
    signs = np.where(path[0] < 0, -1.0, 1.0)
    mixtures = torch.from_numpy(mixed * signs)
    directions: tuple[dict[str, Tensor], ...] = tuple({} for _ in range(count))
    for name, values_of in final.items():
        moved = mixtures.T @ _subtract(snapshots, final, name)
        for direction, row in zip(directions, moved, strict=True):
            direction[name] = row.view(values_of.shape)
    return Components(directions, tuple(shares[:count].tolist()), path * signs + 0.0)  # no zero is negative


def _subtract(snapshots: Sequence[Tensors], final: Tensors, name: str) -> Tensor:
    """Return one parameter's distances from its final values: (snapshots, values)."""
    end = final[name].detach().cpu().double().flatten()
    return torch.stack([snapshot[name].detach().cpu().double().flatten() - end for snapshot in snapshots])


def _multiply(rows: Tensor) -> Floats:
    return (rows @ rows.T).numpy()
