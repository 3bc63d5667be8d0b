"""Training speed on CIFAR-10 of our loop beside the loop people use, in turns in one run.

    python benchmarks/cifar.py [--networks resnet-20,resnet-56] [--rounds N] [--iterations N] [--workers N]

The peer is training as akamaster/pytorch_resnet_cifar10 does it: PIL images through torchvision's transforms in
DataLoader workers, eager float32, torch's SGD, loss and accuracy read every iteration. Ours is what `reslab train`
runs, data included, evaluations not. Where CIFAR-10 is not fetched, noise of its size stands in: the speed is the same.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from rich.console import Console
from rich.progress import track
from rich.table import Table
from torch import Tensor, nn
from torch.utils.data import DataLoader
from torchvision import transforms

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.peers import CifarPeer
from reslab.data.catalogue import load_dataset
from reslab.data.dataset import Dataset, Split
from reslab.errors import UserError
from reslab.experiments.classification import make_task
from reslab.networks import build
from reslab.spec import find
from reslab.spec.preprocess import IMAGENET_MEAN, IMAGENET_STD
from reslab.spec.recipe import find_recipe
from reslab.spec.trial import DataSpec, Trial
from reslab.training.state import TrainingState
from reslab.training.stepping import Stepper, choose_runtime, reproducible

BATCH = 128
OURS = {
    "ours, fp32": {"precision": "fp32"},
    "ours, bf16": {"precision": "bf16"},
    "ours, bf16, compiled": {"precision": "bf16", "compile": True},
}


@dataclass(frozen=True)
class PeerImages:
    """Images as PIL, augmented one by one, as torchvision's CIFAR10 dataset gives them."""

    split: Split
    transform: Callable[[Image.Image], Tensor]

    def __len__(self) -> int:
        return len(self.split)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        image = Image.fromarray(self.split.images[index].transpose(1, 2, 0))
        return self.transform(image), int(self.split.labels[index])


def make_peer(name: str, dataset: Dataset, *, device: str, workers: int) -> Callable[[int], None]:
    """Return what trains the peer for so many iterations."""
    steps = [
        transforms.RandomHorizontalFlip(),
        transforms.RandomCrop(32, 4),
        transforms.ToTensor(),
        transforms.Normalize(IMAGENET_MEAN, IMAGENET_STD),
    ]
    loader = DataLoader(
        PeerImages(dataset.train, transforms.Compose(steps)),
        batch_size=BATCH,
        shuffle=True,
        num_workers=workers,
        pin_memory=device == "cuda",
        persistent_workers=workers > 0,
    )
    network = CifarPeer((int(name.partition("-")[2]) - 2) // 6).to(device).train()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(network.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)
    batches = _endless(loader)

    def advance(iterations: int) -> None:
        for images, labels in itertools.islice(batches, iterations):
            labels = labels.to(device)
            logits = network(images.to(device))
            loss = criterion(logits, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss.item()
            (logits.argmax(1) == labels).float().mean().item()

    return advance


def _endless(loader: DataLoader) -> Iterator[list[Tensor]]:
    while True:
        yield from loader


def make_ours(
    name: str, dataset: Dataset, *, device: str, precision: str, compile: bool = False
) -> Callable[[int], None]:
    """Return what trains ours for so many iterations."""
    trial = Trial(
        data=DataSpec(name=dataset.name, fingerprint=""),
        network=find(name),
        recipe=find_recipe("cifar-paper", {"precision": precision}),
        seed=1,
    )
    network = build(trial.network).to(device).train()
    task = make_task(trial, dataset, device=device)
    task.execution.prepare_network(network)
    state = TrainingState(network, trial.recipe)
    runtime = choose_runtime(network, trial.recipe, device, compile=compile)
    stepper = Stepper(state, task, trial.recipe, seed=1, runtime=runtime)
    numbers = itertools.count()

    def advance(iterations: int) -> None:
        with reproducible():
            for step in itertools.islice(numbers, iterations):
                stepper.advance(step, warmed_at=None)
            assert state.read_tally().failed_at is None

    return advance


def measure(
    contenders: dict[str, Callable[[int], None]], *, rounds: int, iterations: int, name: str
) -> dict[str, float]:
    """Return the median images a second of each contender over rounds in which all take their turn."""
    speeds: dict[str, list[float]] = {contender: [] for contender in contenders}
    for advance in contenders.values():
        advance(5)
    for _ in track(range(rounds), description=name, console=Console(stderr=True), transient=True):
        for contender, advance in contenders.items():
            started = time.perf_counter()
            advance(iterations)
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            speeds[contender].append(iterations * BATCH / (time.perf_counter() - started))
    return {contender: statistics.median(values) for contender, values in speeds.items()}


def load_images() -> Dataset:
    """Return CIFAR-10, or noise of its size."""
    try:
        return load_dataset("cifar10")
    except UserError:
        chance = np.random.default_rng(0)
        splits = [
            Split(
                chance.integers(0, 256, (count, 3, 32, 32), dtype=np.uint8),
                chance.integers(0, 10, count, dtype=np.uint8),
            )
            for count in (50_000, 10_000)
        ]
        return Dataset(name="noise", class_names=tuple("0123456789"), train=splits[0], test=splits[1])


def main() -> None:
    """Measure and print one row a network."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", default="resnet-20")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=40)
    parser.add_argument("--workers", type=int, default=min(4, os.cpu_count() or 1))
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dataset = load_images()
    machine = torch.cuda.get_device_name() if device == "cuda" else platform.processor() or platform.machine()
    about = f"{machine}, {os.cpu_count()} cores, torch {torch.__version__}, {dataset.name}, {given.workers} workers"
    console = Console(width=120)
    console.print(f"{about}; images a second, median of {given.rounds} rounds of {given.iterations} x {BATCH}")
    table = Table("network", "peer", *OURS, box=None, padding=(0, 3, 0, 0))
    records = []
    for name in given.networks.split(","):
        contenders = {"peer": make_peer(name, dataset, device=device, workers=given.workers)}
        contenders |= {label: make_ours(name, dataset, device=device, **how) for label, how in OURS.items()}
        speeds = measure(contenders, rounds=given.rounds, iterations=given.iterations, name=name)
        peer = speeds["peer"]
        table.add_row(name, f"{peer:,.0f}", *[f"{speeds[label]:,.0f} ({speeds[label] / peer:.2f}x)" for label in OURS])
        records.append({"network": name, **speeds})
    console.print(table)
    if given.json:
        given.json.write_text(json.dumps({"about": about, "images_per_second": records}, indent=2) + "\n")


if __name__ == "__main__":
    main()
