"""The loss times a power of two, so that float16 holds its gradients: half of it where they overflow, twice it in time.

float16 ends at 6e-8, and most gradients of single pixels are about that. An iteration that overflows changes nothing
but the scale. All of it stays on the device, and nobody waits to know.
"""

from __future__ import annotations

import torch
from torch import Tensor

FIRST, SMALLEST, LARGEST = 2.0**10, 2.0**-14, 2.0**16  # docs/log.md has the gradients of the paper's networks
STEADY = 2000  # iterations without overflow, after which more may be tried


class LossScale:
    """The scale, and for how many iterations it has held: `state`, which a checkpoint keeps."""

    def __init__(self, device: torch.device) -> None:
        self.state = torch.tensor([FIRST, 0.0], dtype=torch.float64, device=device)

    @property
    def factor(self) -> Tensor:
        """What the loss is multiplied with, and gradients are divided by: no rounding comes of it."""
        return self.state[0].float()

    def follow(self, finite: Tensor) -> Tensor:
        """Take note of whether an iteration's gradients were finite; return whether a smaller scale might help."""
        scale, held = self.state.clone()
        steady = held + 1 >= STEADY
        larger = torch.where(steady, (2 * scale).clamp(max=LARGEST), scale)
        self.state[0] = torch.where(finite, larger, (scale / 2).clamp(min=SMALLEST))
        self.state[1] = torch.where(finite & ~steady, held + 1, 0)
        return scale > SMALLEST
