"""How much of what a block does is a linear map of its channels, the same at each position: by least squares."""

import numpy as np
import torch
from torch import Tensor

from reslab.analysis.streaming import Floats


def multiply(x: Tensor, change: Tensor) -> Tensor:
    """Return the sums over images and positions of the products of [1, x, change] with itself."""
    x, change = (tensor.double().flatten(2).transpose(0, 1).flatten(1) for tensor in (x[..., None], change[..., None]))
    rows = torch.cat([x.new_ones(1, x.shape[1]), x, change])
    return rows @ rows.T


def explain_linearly(products: Floats) -> dict[str, float | None]:
    """Return what shares of variance the best affine map of channels explains: of the change, and of the output.

    What it leaves is the same in both. None where nothing varies.
    """
    channels = (len(products) - 1) // 2
    # About the means, which the constant takes.
    centred = products[1:, 1:] - np.outer(products[0, 1:], products[0, 1:]) / products[0, 0]
    x, mixed, change = centred[:channels, :channels], centred[:channels, channels:], centred[channels:, channels:]
    weights = np.linalg.lstsq(x, mixed, rcond=1e-12)[0]
    left = np.trace(change) - (mixed * weights).sum()
    output = np.trace(x) + 2 * np.trace(mixed) + np.trace(change)
    least = 1e-12 * np.trace(products[1:, 1:])
    totals = {"linear_share": np.trace(change), "output_linear_share": output}
    return {name: float(np.clip(1 - left / total, 0, 1)) if total > least else None for name, total in totals.items()}
