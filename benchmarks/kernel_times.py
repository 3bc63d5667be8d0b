"""Where a training iteration's time goes on a GPU: kernels by what they do, beside the least that could take.

The floor of a convolution is the larger of its bytes over the memory's speed and its multiply-adds over the tensor
cores'; each of its three products (forward, gradient of the input, gradient of the weights) reads two tensors and
writes one. A batch normalization that no convolution does along takes eight passes over its map (statistics 1,
normalize 2, backward sums 2, gradient 3), where a shortcut is added two more. All maps are bfloat16.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from reslab.networks import build
from reslab.networks.blocks import Block
from reslab.spec import Spec

BYTES_PER_SECOND = 4.8e12  # H200, as its maker says
FLOPS_PER_SECOND = 989e12  # dense bfloat16, likewise
WIDTH = 2  # bytes of a bfloat16

FORWARD, INPUTS, WEIGHTS = "convolution, forward", "convolution, gradient of inputs", "convolution, gradient of weights"
MATRIX, NORM, POINTWISE, LAYOUT = (
    "matrix products",
    "batch normalization",
    "elementwise, pooling",
    "copies, casts, layout",
)
INPUT, UPDATE, IDLE = "input, before the network", "update, after the network", "idle"
CLASSES = (FORWARD, INPUTS, WEIGHTS, MATRIX, NORM, POINTWISE, LAYOUT, INPUT, UPDATE, IDLE)
# The first whose words a kernel's name has.
WORDS = {
    WEIGHTS: ("wgrad",),
    INPUTS: ("dgrad",),
    LAYOUT: ("memcpy", "memset", "copy_kernel", "nchwtonhwc", "nhwctonchw", "converttensor", "addpadding"),
    NORM: ("batch_norm", "batchnorm", "bn_fw", "bn_bw"),
    FORWARD: ("fprop", "conv", "implicit_gemm"),
    MATRIX: ("gemm", "nvjet", "cublas", "cutlass"),
}
# Ours around convolutions (networks/fused): normalization with ReLU, addition and the first pool.
OURS = (
    "sum_responses",
    "join_responses",
    "activate",
    "sum_gradients",
    "join_gradients",
    "fold_gradients",
    "fold_pooled_gradients",
)
FUSED = ("triton_poi", "triton_red", "triton_per")  # torch.compile's, named after all they do
OF_THE_NETWORK = (FORWARD, INPUTS, WEIGHTS, NORM)


@dataclass(frozen=True)
class Kernel:
    """Something the device did, in microseconds."""

    name: str
    start: float
    duration: float


@dataclass(frozen=True)
class Floor:
    """What must be moved and computed; `seconds` sums over layers the longer of the two."""

    bytes: float = 0.0
    flops: float = 0.0
    seconds: float = 0.0

    def add(self, *, bytes: float, flops: float = 0.0) -> Floor:
        """Return this and one layer more."""
        seconds = max(bytes / BYTES_PER_SECOND, flops / FLOPS_PER_SECOND)
        return Floor(self.bytes + bytes, self.flops + flops, self.seconds + seconds)


def record_kernels(iterate: Callable[[], None]) -> list[Kernel]:
    """Return what one iteration does on the device."""
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    iterate()
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=activities) as profile:
        iterate()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profile.export_chrome_trace(str(path))
        return read_trace(json.loads(path.read_text()))


def read_trace(trace: dict[str, list[dict[str, object]]]) -> list[Kernel]:
    """Return the kernels and copies of a trace in their order."""
    kinds = ("kernel", "gpu_memcpy", "gpu_memset")
    found = [event for event in trace["traceEvents"] if str(event.get("cat", "")).lower() in kinds]
    kernels = [Kernel(str(event["name"]), float(str(event["ts"])), float(str(event["dur"]))) for event in found]
    return sorted(kernels, key=lambda kernel: kernel.start)


def classify(kernels: Sequence[Kernel]) -> list[str]:
    """Return each kernel's class; what comes before the network's first or after its last goes by its place."""
    classes = [_class_by_name(kernel.name) for kernel in kernels]
    places = [index for index, kind in enumerate(classes) if kind in OF_THE_NETWORK]
    if not places:
        return classes
    before, after = [INPUT] * places[0], [UPDATE] * (len(classes) - places[-1] - 1)
    return [*before, *classes[places[0] : places[-1] + 1], *after]


def _class_by_name(name: str) -> str:
    name = name.lower()
    if name.startswith(OURS):
        return NORM
    if name.startswith(FUSED):
        return NORM if "batch_norm" in name else POINTWISE
    return next((kind for kind, words in WORDS.items() if any(word in name for word in words)), POINTWISE)


def milliseconds(kernels: Sequence[Kernel]) -> dict[str, float]:
    """Return the time of each class, and the time in which nothing ran."""
    times: dict[str, float] = defaultdict(float)
    until = kernels[0].start if kernels else 0.0
    for kernel, kind in zip(kernels, classify(kernels), strict=True):
        times[kind] += kernel.duration / 1e3
        times[IDLE] += max(0.0, kernel.start - until) / 1e3
        until = max(until, kernel.start + kernel.duration)
    return {kind: times[kind] for kind in CLASSES if kind in times}


def longest(kernels: Sequence[Kernel], count: int = 10) -> list[dict[str, object]]:
    """Return the kernels that took longest in all, each with its class, how often it ran and how long."""
    times: Counter[tuple[str, str]] = Counter()
    runs: Counter[tuple[str, str]] = Counter()
    for kernel, kind in zip(kernels, classify(kernels), strict=True):
        times[kind, kernel.name] += kernel.duration / 1e3  # pyright: ignore[reportArgumentType]
        runs[kind, kernel.name] += 1
    return [
        {"class": key[0], "milliseconds": round(value, 4), "runs": runs[key], "name": key[1][:160]}
        for key, value in times.most_common(count)
    ]


def count_floor(spec: Spec, *, batch: int) -> dict[str, Floor]:
    """Return the least an iteration takes, by class."""
    network = build(spec, device="meta")
    floors: dict[str, Floor] = defaultdict(Floor)
    stem = next(module for module in network.modules() if isinstance(module, nn.Conv2d))

    def see_convolution(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        assert isinstance(module, nn.Conv2d)
        moved = WIDTH * (inputs[0].numel() + output.numel() + module.weight.numel())
        flops = 2.0 * output.numel() * module.weight[0].numel()
        for product in (FORWARD, INPUTS, WEIGHTS):
            if product != INPUTS or module is not stem:
                floors[product] = floors[product].add(bytes=moved, flops=flops)

    def see_norm(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        floors[NORM] = floors[NORM].add(bytes=8 * WIDTH * output.numel())

    def see_block(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        floors[POINTWISE] = floors[POINTWISE].add(bytes=2 * WIDTH * output.numel())

    def see_pool(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        floors[POINTWISE] = floors[POINTWISE].add(bytes=2 * WIDTH * (inputs[0].numel() + output.numel()))

    def see_classifier(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        assert isinstance(module, nn.Linear)
        for _ in range(3):
            moved = WIDTH * (inputs[0].numel() + output.numel() + module.weight.numel())
            floors[MATRIX] = floors[MATRIX].add(bytes=moved, flops=2.0 * output.numel() * module.in_features)

    seers = {
        nn.Conv2d: see_convolution,
        nn.BatchNorm2d: see_norm,
        nn.MaxPool2d: see_pool,
        nn.Linear: see_classifier,
        Block: see_block,
    }
    for module in network.modules():
        for kind, see in seers.items():
            if isinstance(module, kind):
                module.register_forward_hook(see)
    images = torch.empty(batch, *spec.input_shape, device="meta")
    with torch.no_grad():
        network(images)
    floors[INPUT] = Floor().add(bytes=(1 + WIDTH) * images.numel())
    # Gradient, velocity and weight are read, the last two written, all float32; a bfloat16 copy is written too.
    floors[UPDATE] = Floor().add(bytes=22 * sum(weight.numel() for weight in network.parameters()))
    return {kind: floors[kind] for kind in CLASSES if kind in floors}
