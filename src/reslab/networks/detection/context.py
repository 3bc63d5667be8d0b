"""Global context (paper, appendix B): the whole image is one more region, and every region is told of it."""

import torch
from torch import Tensor


def join_context(own: Tensor, whole: Tensor) -> Tensor:
    """Return each region's features (images x regions, width) with those of its image (images, width) after them."""
    regions = own.shape[0] // whole.shape[0]
    return torch.cat([own, whole.repeat_interleave(regions, 0)], dim=1)
