"""Table 1 counted, and what it leaves out: what each depth costs to train, counted and measured here.

Multiply-adds are one image's forward pass at 224x224, what the table prints as FLOPs. Activations are what a training
step keeps for its backward pass, in float32.
"""

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch.nn import functional as F

from reslab.experiments.estimate import measure_speed
from reslab.networks import Cost, build, measure_cost
from reslab.numbers import count
from reslab.paper.tables import TABLE_1, Published
from reslab.runs.provenance import name_device
from reslab.runtime.execution import EAGER, FAST, Execution
from reslab.runtime.timing import measure_fastest, measure_time
from reslab.spec import find
from reslab.spec.network import NetworkSpec
from reslab.spec.recipe import find_recipe
from reslab.spec.trial import DataSpec, Trial

ROWS = tuple(row for row in TABLE_1 if row.method.startswith("ResNet"))
BATCHES = (1, 32, 256)
DIGIT = 1e8  # the last one printed
TIMED = {"cpu": ((EAGER, (1,)),), "cuda": ((EAGER, (32, 256)), (FAST, (32, 256)))}  # how, and images at once
SECONDS = {"cpu": 5.0, "cuda": 1.0}  # for timing a network
LEAST = 2  # measurements: the first one warms up
MOST = 4096  # images at once that are tried


@dataclass(frozen=True, kw_only=True)
class Counted:
    """One depth. `stages` has the output's side and what is there; `activation_bytes` is by the images in a batch."""

    network: str
    published: float
    params: int
    multiply_adds: int
    stages: Mapping[str, tuple[int, str]]
    activation_bytes: Mapping[int, int]

    @property
    def word(self) -> Literal["reproduced", "deviates"]:
        """Whether our count, rounded to what is printed, is what is printed."""
        return "reproduced" if round(self.multiply_adds / DIGIT) == round(self.published / DIGIT) else "deviates"

    @property
    def remark(self) -> str:
        """What explains a deviation, where arithmetic does."""
        cut = math.floor(self.multiply_adds / DIGIT) == round(self.published / DIGIT)
        return "our count cut off after the digit printed, not rounded, is the number printed" if cut else ""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Seconds on `batch` images without the optimizer, by torch's kernels, and the memory of a whole training step.

    Of several measurements the fastest counts: another process's turn is not our speed. Memory, the most images there
    was room for (the largest power of two), and the seconds of an iteration as `train` runs it are of CUDA alone.
    """

    network: str
    precision: str
    batch: int
    forward_seconds: float
    step_seconds: float
    peak_memory_bytes: int | None = None
    largest_batch: int | None = None
    iteration_seconds: float | None = None


def count_depths(progress: Callable[[str], None] = lambda network: None) -> Iterator[Counted]:
    """Count the ResNets of Table 1, one after the other; `progress` hears which is next."""
    for row in ROWS:
        assert row.network is not None and row.multiply_adds is not None
        progress(row.network)
        spec = find(row.network)
        assert isinstance(spec, NetworkSpec)
        costs = {batch: measure_cost(spec, batch=batch) for batch in BATCHES}
        yield Counted(
            network=row.network,
            published=row.multiply_adds,
            params=costs[1].params,
            multiply_adds=costs[1].multiply_adds,
            stages=_stages(spec, costs[1]),
            activation_bytes={batch: cost.activation_bytes for batch, cost in costs.items()},
        )


def _stages(spec: NetworkSpec, cost: Cost) -> dict[str, tuple[int, str]]:
    """Return what Table 1 prints of each stage, the sides as they were seen to be."""
    sides = {layer.name: layer.output_shape[-1] for layer in cost.layers}
    found = {"conv1": (sides["stem.conv"], f"{spec.stem.kernel}x{spec.stem.kernel}, {spec.stem.width}")}
    plans = list(spec.layout())
    for name in spec.stage_names:
        blocks = [plan for plan in plans if plan.stage == name]
        layers = "; ".join(f"{layer.kernel}x{layer.kernel}, {layer.out_width}" for layer in blocks[-1].layers)
        last = f"blocks.{blocks[-1].name}.layers.{len(blocks[-1].layers) - 1}.conv"
        found[name] = (sides[last], f"[{layers}] x{len(blocks)}")
    return found


def estimate_measuring(counted: Sequence[Counted], *, device: str) -> float:
    """Return the seconds that `measure_depths` will take, from a look at the first network and all multiply-adds.

    On CUDA that is the most: what does not fit ends the search for the largest batch.
    """
    first = counted[0]
    network = build(find(first.network)).to(device)
    seconds = 0.0
    for execution, batches in TIMED[device]:
        images = torch.randn(batches[0], 3, 224, 224, device=device)
        looks = [measure_time(network, images, execution=execution, repeats=1, warmup=0) for _ in range(2)]
        forward, step = (min(getattr(look, name) for look in looks) for name in ("forward_seconds", "step_seconds"))
        search = step * 2 * MOST / batches[0] if device == "cuda" else 0.0
        for one in counted:
            times = one.multiply_adds / first.multiply_adds
            once = [LEAST * (forward + step) * times * batch / batches[0] for batch in batches]
            seconds += sum(max(SECONDS[device], needed) for needed in once) + search * times
    return seconds


def measure_depths(*, device: str, progress: Callable[[str], None] = lambda network: None) -> Iterator[Measured]:
    """Time the ResNets of Table 1 on random images on `device`, one after the other."""
    for row in ROWS:
        progress(str(row.network))
        for execution, batches in TIMED[device]:
            network = build(find(str(row.network))).to(device)
            execution.prepare_network(network)
            peaks = _find_peaks(network, execution, batches[0]) if device == "cuda" else {}
            for batch in batches:
                if not peaks or batch in peaks:
                    images = torch.randn(batch, 3, 224, 224, device=device)
                    timing = measure_fastest(network, images, execution=execution, seconds=SECONDS[device], least=LEAST)
                    yield Measured(
                        network=str(row.network),
                        precision=execution.precision,
                        batch=batch,
                        forward_seconds=timing.forward_seconds,
                        step_seconds=timing.step_seconds,
                        peak_memory_bytes=peaks.get(batch),
                        largest_batch=max(peaks, default=None),
                        iteration_seconds=_time_iteration(row, execution, batch) if device == "cuda" else None,
                    )


def _time_iteration(row: Published, execution: Execution, batch: int) -> float:
    """Return the seconds of an iteration as `reslab train` runs it: captured, by our kernels where there are any."""
    fields = {"batch": batch, "precision": execution.precision, "channels_last": execution.channels_last}
    data = DataSpec(name="black", fingerprint="")
    trial = Trial(data=data, network=find(str(row.network)), recipe=find_recipe("cifar-paper", fields))
    return measure_speed(trial, device="cuda").iteration_seconds


def _find_peaks(network: torch.nn.Module, execution: Execution, size: int) -> dict[int, int]:
    """Double the batch until a training step, the optimizer's included, has no room; return the memory of each."""
    optimizer = torch.optim.SGD(network.train().parameters(), lr=0.0, momentum=0.9)
    peaks = {}
    while size <= MOST:
        try:
            for _ in range(2):  # the first one makes the optimizer's state
                torch.cuda.reset_peak_memory_stats()
                images = execution.prepare(torch.randn(size, 3, 224, 224, device="cuda"))
                labels = torch.zeros(size, dtype=torch.long, device="cuda")
                with execution.autocast("cuda"):
                    loss = F.cross_entropy(network(images), labels)
                loss.backward()
                optimizer.step()
                torch.cuda.synchronize()
            peaks[size] = torch.cuda.max_memory_allocated()
        except torch.OutOfMemoryError:
            break
        finally:
            optimizer.zero_grad()
            images = labels = loss = None
            torch.cuda.empty_cache()
        size *= 2
    return peaks


def write_largest(batch: int | None) -> str:
    """Write the largest batch that fits; where it is the largest that is tried, more may."""
    return f"≥ {count(batch)}" if batch == MOST else count(batch)


def describe_device(device: str) -> str:
    """Say what was measured on: how many threads compute matters to times too."""
    return name_device(device) + (f", {torch.get_num_threads()} threads" if device == "cpu" else "")


def describe_load() -> str:
    """Say how busy the cores have been in the last minute, where that can be known: times are longer then."""
    known = hasattr(os, "getloadavg")
    return f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores" if known else ""
