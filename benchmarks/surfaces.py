"""How fast the points of a loss surface are measured, beside loss-landscape's way, in one run.

    python benchmarks/surfaces.py [--network resnet-56] [--images 10000] [--batch 1000] [--points 16]
                                  [--precisions fp32,bf16] [--at-once 1,4,8,16] [--modules] [--json FILE]

The peer does what tomgoldstein/loss-landscape does: it sets the weights of one point after the other, tests the network
eagerly in float32, and reads loss and errors of every batch. All read the same images, which lie on the device, and the
same points of one row; a pass is one image at one point. `off` is the largest difference of a loss from the peer's,
relative to it, whose float32 is what torch makes of it: on tensor cores it rounds to 11 bits. `--modules` times torch's
modules, with grouped convolutions, where there are kernels too.
"""

from __future__ import annotations

import argparse
import copy
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.arguments import listed, network, one_of, whole
from benchmarks.record import Record, describe_machine
from reslab.analysis.landscape.directions import choose_moving, draw_direction, rescale_filters
from reslab.analysis.landscape.passes import KernelPasses, Passes, Precision, choose_passes
from reslab.analysis.landscape.plane import Plane, Probe
from reslab.errors import UserError
from reslab.networks import Network, build
from reslab.runtime.execution import choose_device
from reslab.spec import find

Batches: TypeAlias = list[tuple[Tensor, Tensor]]
SPAN = 0.5


def make_network(name: str, device: str) -> Network:
    """Make a network whose statistics are those of its images, as a trained one's are."""
    torch.manual_seed(0)
    made = build(find(name)).to(device).train()
    for _ in range(20):
        made(torch.randn(256, *made.spec.input_shape, device=device))
    return made.eval().requires_grad_(requires_grad=False)


def make_plane(made: Network, passes: Passes) -> Plane:
    """Return a plane of random directions through its weights."""
    weights = choose_moving(dict(passes.network.named_parameters()), "filters")
    drawn = [rescale_filters(draw_direction(weights, seed=0, axis=axis), weights) for axis in (0, 1)]
    device = next(made.parameters()).device
    return Plane(weights, tuple({name: d.to(device, passes.dtype) for name, d in one.items()} for one in drawn))


def losses(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return each image's cross-entropy."""
    return F.cross_entropy(outputs, targets, reduction="none")


def wrong(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return whether each image is taken for another class."""
    return (outputs.argmax(1) != targets).float()


@torch.no_grad()
def run_peer(made: Network, plane: Plane, row: np.ndarray, batches: Batches) -> np.ndarray:
    """Return the losses of a row as loss-landscape finds them."""
    moved, found = copy.deepcopy(made), []
    parameters = dict(moved.named_parameters())
    for place in row.tolist():
        for name, weights in plane.weights.items():
            changes = sum(c * direction[name] for c, direction in zip(place, plane.directions, strict=True))
            parameters[name].data = weights + changes
        total = correct = count = 0.0
        for images, targets in batches:
            outputs = moved(images)
            total += F.cross_entropy(outputs, targets).item() * len(images)
            correct += outputs.argmax(1).eq(targets).sum().item()
            count += len(images)
        found.append(total / count)
    return np.array(found)


def time_passes(run: Callable[[], np.ndarray], *, device: str, repeats: int = 3) -> tuple[np.ndarray, float]:
    """Return what a way finds, and its seconds: the median of a few times, after one that warms up."""
    found, seconds = run(), []
    for _ in range(repeats):
        _wait(device)
        began = time.perf_counter()
        found = run()
        _wait(device)
        seconds.append(time.perf_counter() - began)
    return found, sorted(seconds)[repeats // 2]


def _wait(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def list_ways(
    made: Network, *, precisions: Sequence[Precision], modules: bool, device: str
) -> list[tuple[str, Passes]]:
    """Return our passes by name."""
    ways: list[tuple[str, Passes]] = []
    for precision in precisions:
        chosen = choose_passes(made, precision=precision, device=device)
        ways.append((f"{precision}, {'kernels' if isinstance(chosen, KernelPasses) else 'modules'}", chosen))
        if modules and isinstance(chosen, KernelPasses):
            ways.append((f"{precision}, modules", Passes(made, precision=precision)))
    return ways


def main() -> None:
    """Measure the peer, then each of our ways with each number of points at once, and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", type=network, default="resnet-56")
    parser.add_argument("--images", type=whole, default=10_000)
    parser.add_argument("--batch", type=whole, default=1000)
    parser.add_argument("--points", type=whole, default=16)
    parser.add_argument("--precisions", type=listed(one_of(("fp32", "bf16"))), default=["fp32", "bf16"])
    parser.add_argument("--at-once", type=listed(whole), default=[1, 4, 8, 16])
    parser.add_argument("--modules", action="store_true")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    console, record, device = Console(width=120), Record(given.json), choose_device()
    made = make_network(given.network, device)
    images = torch.randn(given.images, *made.spec.input_shape, device=device)
    targets = torch.randint(made.spec.classes, (given.images,), device=device)
    batches = list(zip(images.split(given.batch), targets.split(given.batch), strict=True))
    row = np.stack([np.full(given.points, SPAN / 2), np.linspace(-SPAN, SPAN, given.points)], 1)
    passes = given.points * given.images
    about = f"{describe_machine(device)}; {given.network}, {given.images:,} images, batches of {given.batch:,}"
    console.print(about)
    plane = make_plane(made, Passes(made, precision="fp32"))
    expected, seconds = time_passes(lambda: run_peer(made, plane, row, batches), device=device)
    peer = passes / seconds
    table = Table("way", "points at once", "passes/s", "ratio", "off", box=None, padding=(0, 3, 0, 0))
    table.add_row("loss-landscape's, fp32", "1", f"{peer:,.0f}", "1.00", "")
    rows: list[dict[str, Any]] = [{"way": "peer", "at_once": 1, "passes_per_second": peer}]
    for name, ours in list_ways(made, precisions=given.precisions, modules=given.modules, device=device):
        for at_once in given.at_once:
            probe = Probe(passes=ours, settle=None, images=batches, losses=losses, wrong=wrong, at_once=at_once)
            try:
                found, seconds = time_passes(lambda probe=probe: probe.measure(plane, row)[0], device=device)
            except torch.OutOfMemoryError:
                console.print(f"{name}, {at_once} at once: out of memory")
                continue
            speed, off = passes / seconds, float(np.abs(found / expected - 1).max())
            table.add_row(name, str(at_once), f"{speed:,.0f}", f"{speed / peer:.2f}", f"{off:.1e}")
            rows.append({"way": name, "at_once": at_once, "passes_per_second": speed, "off": off})
            record.keep(about=about, images=given.images, batch=given.batch, points=given.points, rows=rows)
    console.print(table)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"{error}")
