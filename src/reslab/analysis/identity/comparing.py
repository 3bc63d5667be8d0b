"""Maps and outputs compared image by image."""

import torch
from torch import Tensor


def compare(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return for each image the length of y - x relative to x, and the cosine of x and y, in float64.

    Maps that are equal differ by nothing and have the cosine one, even where both are zero; a zero and another one have
    the cosine zero. What is not zero has no length relative to zero: that of its change is infinite.
    """
    x, y = x.double().flatten(1), y.double().flatten(1)
    length, other = x.norm(dim=1), y.norm(dim=1)
    difference = (y - x).norm(dim=1)
    same = difference == 0
    change = torch.where(same, 0.0, difference / length)
    cosine = (x * y).sum(1) / torch.where((length == 0) | (other == 0), 1.0, length * other)
    return change, torch.where(same, 1.0, cosine)
