"""How long a network takes here and now: a forward pass, and a training step without the optimizer."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from reslab.runtime.execution import EAGER, Execution
from reslab.spec.recipe import Precision

LONG = 5  # times what was to be spent in all


def time_once(run: Callable[[], object], device: torch.device | str) -> float:
    """Return the seconds that `run` takes, until the device is through with it."""
    start = time.perf_counter()
    run()
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - start


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Seconds a batch."""

    forward_seconds: float
    step_seconds: float


def measure_time(
    network: nn.Module,
    batch: Tensor,
    *,
    execution: Execution = EAGER,
    forward_precision: Precision | None = None,
    repeats: int = 5,
    warmup: int = 1,
) -> Timing:
    """Take the median times of `network` on `batch`, where both are; weights, statistics and mode are left as found.

    The forward pass alone has the precision of `execution`, unless another is given. Gradients are dropped, and the
    parameters keep the layout of `execution`.
    """
    device = batch.device
    state = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    training = network.training
    execution.prepare_network(network)
    batch = execution.prepare(batch)
    alone = replace(execution, precision=forward_precision or execution.precision)

    def forward() -> None:
        with torch.no_grad(), alone.autocast(device.type):
            network(batch)

    def step() -> None:
        with execution.autocast(device.type):
            outputs = network(batch)
            loss = F.cross_entropy(outputs, outputs.new_zeros(len(outputs), dtype=torch.long))
        loss.backward()
        network.zero_grad(set_to_none=True)

    def median_seconds(run: Callable[[], None]) -> float:
        seconds = [time_once(run, device) for _ in range(warmup + repeats)]
        return statistics.median(seconds[warmup:])

    try:
        network.eval()
        forward_seconds = median_seconds(forward)
        network.train()
        return Timing(forward_seconds=forward_seconds, step_seconds=median_seconds(step))
    finally:
        network.load_state_dict(state)
        network.train(training)


def measure_fastest(network: nn.Module, batch: Tensor, *, execution: Execution, seconds: float, least: int) -> Timing:
    """Take the fastest of what `seconds` are enough for: another process's turn is not our speed, nor is the first."""
    timings = _repeat(network, batch, execution, seconds=seconds, least=least)
    return Timing(
        forward_seconds=min(timing.forward_seconds for timing in timings),
        step_seconds=min(timing.step_seconds for timing in timings),
    )


def measure_usual(
    network: nn.Module,
    batch: Tensor,
    *,
    execution: Execution,
    forward_precision: Precision | None = None,
    seconds: float,
    most: int,
) -> Timing:
    """Take the mean of what `seconds` are enough for: so it goes on beside what else is running.

    The first does not count, unless it took so long that what it does once is little of it.
    """
    timings = _repeat(network, batch, execution, forward_precision, seconds=0, least=1)
    first = timings[0].forward_seconds + timings[0].step_seconds
    if first < LONG * seconds:
        timings = _repeat(network, batch, execution, forward_precision, seconds=seconds, least=1, most=most - 1)
    return Timing(
        forward_seconds=statistics.fmean(timing.forward_seconds for timing in timings),
        step_seconds=statistics.fmean(timing.step_seconds for timing in timings),
    )


def _repeat(
    network: nn.Module,
    batch: Tensor,
    execution: Execution,
    forward_precision: Precision | None = None,
    *,
    seconds: float,
    least: int,
    most: int | None = None,
) -> list[Timing]:
    timings: list[Timing] = []
    began = time.perf_counter()
    while len(timings) < least or (len(timings) != most and time.perf_counter() - began < seconds):
        timings.append(
            measure_time(network, batch, execution=execution, forward_precision=forward_precision, repeats=1, warmup=0)
        )
    return timings
