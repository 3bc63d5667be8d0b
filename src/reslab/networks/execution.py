"""How a network runs, as opposed to what it computes: memory layout and precision.

Channels-last maps suit the convolution kernels of CPUs and GPUs alike; bfloat16 halves what moves and keeps
float32's range, so training needs no loss scaling. `FAST` has both; benchmarks/networks.py measures them.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from reslab.errors import UserError

# By the number of axes of a batch: images have four, volumes five; sequences have no such layout.
CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}


@dataclass(frozen=True, kw_only=True)
class Execution:
    """A memory layout and a precision, applied to networks and batches."""

    channels_last: bool = False
    precision: Literal["fp32", "bf16"] = "fp32"

    def prepare(self, tensors: Tensor) -> Tensor:
        """Return a batch in this layout."""
        layout = CHANNELS_LAST.get(tensors.dim()) if self.channels_last else None
        return tensors.contiguous(memory_format=layout or torch.contiguous_format)

    def prepare_network(self, network: nn.Module) -> nn.Module:
        """Lay the network's kernels out likewise, in place, and return it."""
        for parameter in network.parameters():
            parameter.data = self.prepare(parameter.data)
        return network

    def autocast(self, device: str = "cpu") -> contextlib.AbstractContextManager[object]:
        """Return the context to run the forward pass in."""
        return torch.autocast(device, torch.bfloat16, enabled=self.precision == "bf16")


EAGER = Execution()
FAST = Execution(channels_last=True, precision="bf16")


def choose_device(wanted: str | None = None) -> str:
    """Return where to compute: on the device that is wanted, if it is here; else on a GPU if there is one."""
    if wanted is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=wanted)
    except (RuntimeError, AssertionError) as error:
        raise UserError(
            f"device is {wanted!r}, and there is none here; give cpu, or cuda where there is a GPU"
        ) from error
    return wanted
