"""How a network runs, as opposed to what it computes: memory layout and precision.

Channels-last maps suit the convolution kernels of CPUs and GPUs alike; 16 bits halve what moves. bfloat16 keeps
float32's range and rounds to 8 bits; float16 rounds to 11, and its gradients need a scale (training/state.py).
`FAST` is channels last and bfloat16; benchmarks/networks.py measures them.
"""

import contextlib
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from reslab.errors import UserError
from reslab.spec.recipe import Precision

NARROW: dict[Precision, torch.dtype] = {"bf16": torch.bfloat16, "fp16": torch.float16}
# By the number of axes of a batch: images have four, volumes five; sequences have no such layout.
CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}


@dataclass(frozen=True, kw_only=True)
class Execution:
    """A memory layout and a precision, applied to networks and batches."""

    channels_last: bool = False
    precision: Precision = "fp32"

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
        return torch.autocast(device, NARROW.get(self.precision, torch.bfloat16), enabled=self.precision in NARROW)


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
            f"device is {wanted!r}, which this machine does not have; give cpu, or cuda on a machine with a GPU"
        ) from error
    return wanted
