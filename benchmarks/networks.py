"""Forward and training speed of our networks beside the peers', interleaved in one run.

    python benchmarks/networks.py [--rounds N] [--json FILE]

ResNet-50 stands beside torchvision's, ResNet-20 beside a CIFAR ResNet as commonly written (peers.py). Every variant
runs once a round, in shuffled order, so that the machine's drift touches all alike; the table shows medians and ratios.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torchvision
from rich.console import Console
from rich.progress import track
from rich.table import Table
from torch import Tensor, nn
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.arguments import whole
from benchmarks.peers import CifarPeer
from benchmarks.record import Record, describe_machine
from reslab.networks import create_model
from reslab.runtime.execution import EAGER, FAST, Execution, choose_device

CASES: dict[str, tuple[Callable[[], nn.Module], Callable[[], nn.Module], tuple[int, ...]]] = {
    "resnet-20": (lambda: CifarPeer(3), lambda: create_model("resnet-20", zero_padding="both"), (128, 3, 32, 32)),
    "resnet-50": (torchvision.models.resnet50, lambda: create_model("resnet-50-v1.5"), (16, 3, 224, 224)),
}
VARIANTS: dict[str, Execution] = {
    "ours": EAGER,
    "channels-last": Execution(channels_last=True),
    "bf16": Execution(precision="bf16"),
    "channels-last + bf16": FAST,
}


def main() -> None:
    """Measure every case and print one table a kind of pass."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=whole, default=7)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    device = choose_device()
    console = Console(width=120)
    about = describe_machine(device)
    console.print(f"{about}; images a second, median of {options.rounds} rounds; in brackets: times the peer\n")
    records, record = [], Record(options.json)
    for name, (make_peer, make_ours, shape) in CASES.items():
        passes = measure(make_peer, make_ours, torch.randn(shape, device=device), rounds=options.rounds, name=name)
        for kind, seconds in passes.items():
            table = Table(
                "peer, eager fp32", *VARIANTS, title=f"{name}, batch {shape[0]}, {kind}", box=None, padding=(0, 3, 0, 0)
            )
            speeds = {variant: shape[0] / value for variant, value in seconds.items()}
            peer = speeds.pop("peer")
            table.add_row(f"{peer:,.1f}", *[f"{speed:,.1f} ({speed / peer:.2f}x)" for speed in speeds.values()])
            console.print(table, "")
            records.append({"network": name, "batch": shape[0], "pass": kind, "peer": peer, **speeds})
    record.keep(about=about, images_per_second=records)


def measure(
    make_peer: Callable[[], nn.Module], make_ours: Callable[[], nn.Module], images: Tensor, *, rounds: int, name: str
) -> dict[str, dict[str, float]]:
    """Return median seconds by kind of pass and variant, the peer's under its own name."""
    contenders = {"peer": (make_peer(), EAGER)} | {variant: (make_ours(), how) for variant, how in VARIANTS.items()}
    runs: dict[str, dict[str, Callable[[], None]]] = {"forward": {}, "forward + backward": {}}
    for contender, (network, execution) in contenders.items():
        execution.prepare_network(network.to(images.device))
        batch = execution.prepare(images)
        runs["forward"][contender] = make_forward(network, batch, execution)
        runs["forward + backward"][contender] = make_step(network, batch, execution)
    medians, order = {}, random.Random(0)
    for kind, contending in runs.items():
        seconds: dict[str, list[float]] = {contender: [] for contender in contending}
        for number in track(
            range(rounds + 1), description=f"{name} {kind}", console=Console(stderr=True), transient=True
        ):
            for contender, run in order.sample(list(contending.items()), len(contending)):
                start = time.perf_counter()
                run()
                if images.is_cuda:
                    torch.cuda.synchronize()
                if number:  # the first round warms up
                    seconds[contender].append(time.perf_counter() - start)
        medians[kind] = {contender: statistics.median(values) for contender, values in seconds.items()}
    return medians


def make_forward(network: nn.Module, batch: Tensor, execution: Execution) -> Callable[[], None]:
    """Return one inference pass."""

    def forward() -> None:
        network.eval()
        with torch.inference_mode(), execution.autocast(batch.device.type):
            network(batch)

    return forward


def make_step(network: nn.Module, batch: Tensor, execution: Execution) -> Callable[[], None]:
    """Return one training pass without the optimizer."""
    labels = torch.zeros(len(batch), dtype=torch.long, device=batch.device)

    def step() -> None:
        network.train()
        with execution.autocast(batch.device.type):
            loss = F.cross_entropy(network(batch), labels)
        loss.backward()
        network.zero_grad(set_to_none=True)

    return step


if __name__ == "__main__":
    main()
