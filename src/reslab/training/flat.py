"""Many tensors as one: laid end to end in a single stretch of memory, each still in its place under its name.

An update of all of them is then one operation on `flat`, whatever their number and shapes.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor


class FlatTensors:
    """Named tensors of one type that live in `flat`; `views` has each in its own shape and layout."""

    def __init__(self, tensors: Mapping[str, Tensor], *, flat: Tensor) -> None:
        self.flat = flat
        self.views: dict[str, Tensor] = {}
        start = 0
        for name, tensor in tensors.items():
            self.views[name] = flat.as_strided(tensor.shape, tensor.stride(), start)
            start += tensor.numel()

    @classmethod
    def holding(cls, tensors: Mapping[str, Tensor], *, device: torch.device) -> FlatTensors:
        """Move `tensors`, which must be dense and on `device`, into one memory; they stay the objects they are."""
        values = [flatten(tensor.detach()) for tensor in tensors.values()]
        held = cls(tensors, flat=torch.cat(values) if values else torch.empty(0, device=device))
        held.attach(tensors)
        return held

    def attach(self, tensors: Mapping[str, Tensor]) -> None:
        """Let tensors of the same names and shapes share this memory."""
        for name, tensor in tensors.items():
            tensor.data = self.views[name]

    def copy(self, flat: Tensor) -> FlatTensors:
        """Return tensors of the same names and shapes that live in `flat`."""
        return FlatTensors(self.views, flat=flat)


def flatten(tensor: Tensor) -> Tensor:
    """Return a dense tensor's values in the order they lie in memory, without moving them."""
    return tensor.as_strided((tensor.numel(),), (1,))
