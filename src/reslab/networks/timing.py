"""How long a network takes here and now: a forward pass, and a training step without the optimizer."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from reslab.networks.execution import EAGER, Execution


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Median seconds a batch."""

    forward_seconds: float
    step_seconds: float


def measure_time(
    network: nn.Module, batch: Tensor, *, execution: Execution = EAGER, repeats: int = 5, warmup: int = 1
) -> Timing:
    """Time `network` on `batch` on the device both are on; its weights, statistics and mode are left as found.

    Gradients are dropped, and the parameters keep the layout of `execution`.
    """
    device = batch.device
    state = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    training = network.training
    execution.prepare_network(network)
    batch = execution.prepare(batch)
    labels = torch.zeros(len(batch), dtype=torch.long, device=device)

    def forward() -> None:
        with torch.no_grad(), execution.autocast(device.type):
            network(batch)

    def step() -> None:
        with execution.autocast(device.type):
            loss = F.cross_entropy(network(batch), labels)
        loss.backward()
        network.zero_grad(set_to_none=True)

    def median_seconds(run: Callable[[], None]) -> float:
        seconds = []
        for _ in range(warmup + repeats):
            start = time.perf_counter()
            run()
            if device.type == "cuda":
                torch.cuda.synchronize(device)
            seconds.append(time.perf_counter() - start)
        return statistics.median(seconds[warmup:])

    try:
        network.eval()
        forward_seconds = median_seconds(forward)
        network.train()
        return Timing(forward_seconds=forward_seconds, step_seconds=median_seconds(step))
    finally:
        network.load_state_dict(state)
        network.train(training)
