"""What our kernels around convolutions take on a GPU, for every map of a network: by kernel, by tile, beside torch's.

    python benchmarks/normalization.py [--network resnet-50-v1.5] [--batch 256] [--sweep] [--json FILE]

Each map of the network is activated and taken back once, on random numbers, as its training iteration does it; times
are of the profiler, bytes what a kernel must read and write. `--sweep` changes one field of `Tiles` at a time and
prints milliseconds an iteration, all maps together: the fields that gain belong into its defaults. Besides, the stem's
convolution is timed on quads of pixels and as torch has it.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks import kernel_times
from benchmarks.arguments import whole
from benchmarks.record import Record
from reslab.networks import build
from reslab.networks.fused import normalization, stem
from reslab.networks.fused.normalized import NormalizedTrunk
from reslab.networks.resnet import ResidualNetwork
from reslab.runs.provenance import name_device
from reslab.spec import Spec, find

SWEPT = {
    "channels": (32, 128),
    "written": (2048, 8192),
    "summed": (2048, 8192),
    "summed_gradients": (1024, 4096),
    "pooled": (2048,),
    "programs": (2, 3, 6, 8),
    "loads": (2, 3),
}


@dataclass(frozen=True)
class Activation:
    """What stands between two convolutions: a map's shape, what is added to it, whether it is pooled and used twice."""

    shape: tuple[int, ...]
    added: str = "nothing"
    pool: bool = False

    @property
    def name(self) -> str:
        """What tells it from others."""
        return f"{' x '.join(map(str, self.shape))}, {'pooled' if self.pool else f'{self.added} added'}"

    def count_bytes(self) -> dict[str, float]:
        """Return what each kernel must read and write, all maps being bfloat16."""
        size = 2.0 * torch.Size(self.shape).numel()
        if self.pool:
            quarter = size / 4
            return {
                "sum_responses": size,
                "activate_pool": size + 2.5 * quarter,
                "sum_gradients": 4 * quarter,
                "fold_pooled_gradients": 2 * size + 1.5 * quarter,
            }
        bits = 1 / 16
        maps = {"nothing": (1, 2, 2, 3), "map": (1, 3 + bits, 4 + bits, 3), "projection": (2, 3, 5, 5)}[self.added]
        kernels = ("sum_responses", "activate", "sum_gradients", "fold_gradients")
        return {kernel: count * size for kernel, count in zip(kernels, maps, strict=True)}


def list_activations(spec: Spec, *, batch: int) -> Counter[Activation]:
    """Return what a network has of them and how often, by running it where nothing is computed."""
    network = build(spec, device="meta")
    assert isinstance(network, ResidualNetwork)
    found: Counter[Activation] = Counter()

    def activate(response: Tensor, norm: nn.Module, *shortcut: object) -> tuple[Tensor, Tensor]:
        found[Activation(tuple(response.shape), ("nothing", "map", "projection")[len(shortcut)])] += 1
        return response, response

    def activate_pool(response: Tensor, norm: nn.Module, pool: nn.Module) -> tuple[Tensor, Tensor]:
        found[Activation(tuple(response.shape), pool=True)] += 1
        return pool(response), pool(response)

    trunk = NormalizedTrunk(network, dtype=torch.float32)
    trunk.passes = SimpleNamespace(activate=activate, narrow=lambda weights, dtype: weights)
    trunk.stem = SimpleNamespace(activate_pool=activate_pool, respond=lambda conv, images, weight: conv(images))
    trunk.features(torch.empty(batch, *spec.input_shape, device="meta"))
    return found


class Rehearsal:
    """One activation and its way back, on maps of random numbers."""

    def __init__(self, activation: Activation) -> None:
        self.activation = activation
        maps, norms = 1 + (activation.added != "nothing"), 1 + (activation.added == "projection")
        self.maps = [self._draw(activation.shape).requires_grad_() for _ in range(maps)]
        self.norms = [nn.BatchNorm2d(activation.shape[1], device="cuda") for _ in range(norms)]
        self.inputs = [*self.maps, *[weight for norm in self.norms for weight in norm.parameters()]]
        self.pool = nn.MaxPool2d(3, 2, padding=1)
        output = self.by_torch().detach()
        self.upstream = [self._draw(output.shape) for _ in range(1 if maps == 1 and not activation.pool else 2)]

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        maps = torch.empty(shape, dtype=torch.bfloat16, device="cuda", memory_format=torch.channels_last)
        return maps.normal_()

    def by_torch(self) -> Tensor:
        """Activate by torch's kernels."""
        y = self.norms[0](self.maps[0])
        if len(self.maps) > 1:
            y = y.add_(self.norms[1](self.maps[1]) if len(self.norms) > 1 else self.maps[1])
        y = y.relu_()
        return self.pool(y) if self.activation.pool else y

    def run_torch(self) -> None:
        """Activate and take the gradients back by torch's kernels."""
        torch.autograd.grad(self.by_torch(), self.inputs, sum(self.upstream[1:], self.upstream[0]))

    def run_ours(self) -> None:
        """Activate and take the gradients back by ours."""
        if self.activation.pool:
            outputs = stem.activate_pool(self.maps[0], self.norms[0], self.pool)
        else:
            outputs = normalization.activate(self.maps[0], self.norms[0], *self.maps[1:], *self.norms[1:])
        torch.autograd.grad(outputs[: len(self.upstream)], self.inputs, self.upstream)


def time_kernels(rehearsal: Rehearsal) -> dict[str, float]:
    """Return milliseconds by kernel, of ours."""
    times: dict[str, float] = defaultdict(float)
    for kernel in kernel_times.record_kernels(rehearsal.run_ours):
        if kernel.name.startswith(kernel_times.OURS):
            times[kernel.name] += kernel.duration / 1e3
    return dict(times)


def time_all(rehearsals: dict[Activation, Rehearsal], counts: Counter[Activation]) -> dict[str, float]:
    """Return milliseconds an iteration by kernel, over all activations of the network."""
    times: dict[str, float] = defaultdict(float)
    for activation, rehearsal in rehearsals.items():
        for kernel, milliseconds in time_kernels(rehearsal).items():
            times[kernel] += counts[activation] * milliseconds
    return dict(times)


def tabulate_maps(rehearsals: dict[Activation, Rehearsal], counts: Counter[Activation]) -> Table:
    """Return, for each activation, how fast each kernel moves its bytes, and what torch's kernels take."""
    table = Table("map", "times", "ours, ms", "torch, ms", "gigabytes a second", box=None, padding=(0, 2, 0, 0))
    for activation, rehearsal in rehearsals.items():
        ours = time_kernels(rehearsal)
        torchs = sum(kernel.duration for kernel in kernel_times.record_kernels(rehearsal.run_torch)) / 1e3
        moved = activation.count_bytes()
        speeds = [f"{kernel} {moved[kernel] / ours[kernel] / 1e6:,.0f}" for kernel in moved if ours.get(kernel)]
        told = f"{sum(ours.values()):.3f}", f"{torchs:.3f}"
        table.add_row(activation.name, str(counts[activation]), *told, ", ".join(speeds))
    return table


def time_stem(spec: Spec, *, batch: int) -> dict[str, float]:
    """Return milliseconds of the first convolution and of its weights' gradient, both ways."""
    network: Any = build(spec)
    conv = network.stem.conv.to("cuda", torch.bfloat16, memory_format=torch.channels_last)
    images = torch.randn(batch, *spec.input_shape, device="cuda").contiguous(memory_format=torch.channels_last)
    ways = {"by quads": lambda: stem.respond(conv, images, conv.weight), "as it is": lambda: conv(images.bfloat16())}
    times = {}
    for name, run in ways.items():
        upstream = run().detach()
        with torch.backends.cudnn.flags(enabled=True, deterministic=True):
            kernels = kernel_times.record_kernels(
                lambda run=run, upstream=upstream: torch.autograd.grad(run(), conv.weight, upstream)
            )
        times[f"stem {name}"] = sum(kernel.duration for kernel in kernels) / 1e3
    return times


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", default="resnet-50-v1.5")
    parser.add_argument("--batch", type=whole, default=256)
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("normalization.py: this is about kernels of a GPU, and there is none")
    kept = Record(given.json)
    counts = list_activations(find(given.network), batch=given.batch)
    rehearsals = {activation: Rehearsal(activation) for activation in counts}
    console, usual = Console(width=200), normalization.TILES
    about = f"{name_device('cuda')}, torch {torch.__version__}; {given.network}, batch {given.batch}"
    console.print(about)
    console.print(tabulate_maps(rehearsals, counts))
    for name, milliseconds in time_stem(find(given.network), batch=given.batch).items():
        console.print(f"{name}: {milliseconds:.3f} ms")
    record = {"as it is": time_all(rehearsals, counts)}
    for field, values in SWEPT.items() if given.sweep else ():
        for value in values:
            normalization.TILES = replace(usual, **{field: value})
            try:
                record[f"{field}={value}"] = time_all(rehearsals, counts)
            except Exception as error:  # whatever a compiler comes up with
                console.print(f"{field}={value} failed: {str(error)[:200]}", highlight=False)
            normalization.TILES = usual
    kernels = list(dict.fromkeys(kernel for times in record.values() for kernel in times))
    table = Table("milliseconds an iteration", *kernels, "all", box=None, padding=(0, 2, 0, 0))
    for name, times in record.items():
        row = [*[times.get(kernel, 0.0) for kernel in kernels], sum(times.values())]
        table.add_row(name, *[f"{value:.3f}" for value in row])
    console.print(table)
    kept.keep(about=about, milliseconds=record)


if __name__ == "__main__":
    main()
