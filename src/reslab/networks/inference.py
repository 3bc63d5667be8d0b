"""A network as fast as it goes: on CUDA passes are captured, a graph a shape; in bfloat16 normalizations are folded.

In float32 outputs are the network's own. In bfloat16 they differ from it by rounding, so that has to be asked for.
"""

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from reslab.networks.folding import fold
from reslab.networks.network import Network
from reslab.runtime.capture import capture
from reslab.runtime.execution import FAST, Execution

Served: TypeAlias = Literal["fp32", "bf16"]
MOST_GRAPHS = 8  # each holds its own maps


def serve(network: Network, precision: Served, *, device: torch.device | str) -> Network:
    """Return a network for inference: itself, or a copy in bfloat16 whose normalizations are folded."""
    if precision == "fp32":
        return network
    folded = fold(network).to(device, torch.bfloat16)
    FAST.prepare_network(folded)
    return folded


@dataclass(frozen=True)
class Recording:
    """A captured pass: what it reads, what it writes, and what runs it."""

    images: Tensor
    outputs: Tensor
    replay: Callable[[], None]


class Inference:
    """What `run` makes of batches, in float32; on CUDA a shape is captured when it comes for the `capture_at`-th time.

    Without that none is. Threads take turns: a graph has one place.
    """

    def __init__(
        self,
        run: Callable[[Tensor], Tensor],
        *,
        precision: Served,
        execution: Execution,
        device: torch.device | str,
        capture_at: int | None = 2,
    ) -> None:
        self.run, self.execution = run, FAST if precision == "bf16" else execution
        self.dtype = torch.bfloat16 if precision == "bf16" else torch.float32
        self.capture_at = capture_at if torch.device(device).type == "cuda" else None
        self.seen: Counter[torch.Size] = Counter()
        self.recordings: dict[torch.Size, Recording] = {}
        self.turn = threading.Lock()

    @torch.inference_mode(mode=False)  # what is made in it could not be written to outside
    @torch.no_grad()
    def __call__(self, images: Tensor) -> Tensor:
        if self.capture_at is None:
            return self._run(images)
        with self.turn:
            recording = self._find(images, self.capture_at)
            if recording is None:
                return self._run(images)
            recording.images.copy_(images)
            recording.replay()
            outputs = recording.outputs.float()
            return outputs.clone() if outputs is recording.outputs else outputs  # the next pass writes there

    def _run(self, images: Tensor) -> Tensor:
        return self.run(self._enter(images)).float()

    def _enter(self, images: Tensor) -> Tensor:
        return self.execution.prepare(images.to(self.dtype))

    def _find(self, images: Tensor, capture_at: int) -> Recording | None:
        """Return what was captured for such images, or is now."""
        shape = images.shape
        self.seen[shape] += 1
        if shape not in self.recordings and self.seen[shape] >= capture_at and len(self.recordings) < MOST_GRAPHS:
            self.recordings[shape] = self._record(images)
        return self.recordings.get(shape)

    def _record(self, images: Tensor) -> Recording:
        place = self._enter(images).clone()
        outputs: list[Tensor] = []

        @torch.no_grad()
        def work() -> None:
            outputs[:] = [self.run(place)]

        # Which kernels are fastest is found out by trying them.
        with torch.backends.cudnn.flags(enabled=True, benchmark=True):
            replay = capture(work, device=images.device)
        return Recording(place, outputs[0], replay)
