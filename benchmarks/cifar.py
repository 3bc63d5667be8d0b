"""Training speed on CIFAR-10 of our loop beside the loop people use, in turns in one run.

    python benchmarks/cifar.py [--networks resnet-20,resnet-56] [--ours bf16] [--together 1,8] [--rounds N]

The peer is training as akamaster/pytorch_resnet_cifar10 does it: PIL images through torchvision's transforms in
DataLoader workers, eager float32, torch's SGD, loss and accuracy read every iteration. Ours is what `reslab train`
runs, data included, evaluations not; several trials at once run as in `reslab reproduce`, and the images of all count.
Where CIFAR-10 is not fetched, noise of its size stands in: the speed is the same.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn
from torch.utils.data import DataLoader
from torchvision import transforms

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.arguments import listed, network, one_of, whole
from benchmarks.peers import CifarPeer
from benchmarks.race import Advance, Contender, Race
from benchmarks.record import Record, describe_machine
from reslab.data.arrays.dataset import ArrayDataset
from reslab.data.arrays.split import ArraySplit
from reslab.data.catalogue import load_dataset
from reslab.errors import UserError
from reslab.experiments.together import settle
from reslab.networks import build
from reslab.runtime.execution import choose_device
from reslab.spec import find
from reslab.spec.preprocess import IMAGENET_MEAN, IMAGENET_STD
from reslab.spec.recipe import find_recipe
from reslab.spec.trial import DataSpec, Trial
from reslab.tasks.trial_task import make_task
from reslab.training.stepping import assemble, reproducible

BATCH = 128
PEER = "peer"
OURS = {
    "fp32": {"precision": "fp32"},
    "bf16": {"precision": "bf16"},
    "fp16": {"precision": "fp16"},
    "compiled": {"precision": "bf16", "compile": True},
}


@dataclass(frozen=True)
class PeerImages:
    """Images as PIL, augmented one by one, as torchvision's CIFAR10 dataset gives them."""

    split: ArraySplit
    transform: Callable[[Image.Image], Tensor]

    def __len__(self) -> int:
        return len(self.split)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        image = Image.fromarray(self.split.images[index].transpose(1, 2, 0))
        return self.transform(image), int(self.split.targets[index])


def make_peer(name: str, dataset: ArrayDataset, *, device: str, workers: int) -> Advance:
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
    name: str, dataset: ArrayDataset, *, device: str, together: int, precision: str, compile: bool = False
) -> Callable[[int], None]:
    """Return what trains `together` trials of ours at once, each for so many iterations."""
    recipe = find_recipe("cifar-paper", {"precision": precision})
    about = DataSpec(name=dataset.name, fingerprint="")
    trials = [Trial(data=about, network=find(name), recipe=recipe, seed=seed) for seed in range(1, together + 1)]
    # A thread a trial for good: what one captures, it replays on the same stream.
    threads = [ThreadPoolExecutor(1, initializer=settle, initargs=(device, torch.get_num_threads())) for _ in trials]
    starts = [
        thread.submit(start_training, trial, dataset, device=device, compile=compile)
        for thread, trial in zip(threads, trials, strict=True)
    ]
    trainings = [start.result() for start in starts]

    def advance(iterations: int) -> None:
        with reproducible():
            rides = [thread.submit(training, iterations) for thread, training in zip(threads, trainings, strict=True)]
            for ride in rides:
                ride.result()

    return advance


def start_training(trial: Trial, dataset: ArrayDataset, *, device: str, compile: bool) -> Callable[[int], None]:
    """Return what trains one trial for so many iterations, and waits for the device."""
    task = make_task(trial, dataset, device=device)
    stepper = assemble(build(trial.network), task, trial.recipe, seed=trial.seed, device=device, compile=compile)
    numbers = itertools.count()

    def advance(iterations: int) -> None:
        for step in itertools.islice(numbers, iterations):
            stepper.advance(step, warmed_at=None)
        assert stepper.state.read_tally().failed_at is None

    return advance


def list_contenders(name: str, dataset: ArrayDataset, *, device: str, given: argparse.Namespace) -> Iterator[Contender]:
    """Yield the peer, and ours in each precision with each number of trials at once."""
    peer = partial(make_peer, name, dataset, device=device, workers=given.workers)
    yield Contender(kind=name, label=PEER, make=peer, images=BATCH, iterations=given.peer_iterations)
    for ours, together in itertools.product(given.ours, given.together):
        label = f"ours, {ours}, {together} at once"
        make = partial(make_ours, name, dataset, device=device, together=together, **OURS[ours])
        yield Contender(kind=name, label=label, make=make, images=together * BATCH, iterations=given.iterations)


def measure(contenders: Iterable[Contender], *, rounds: int, device: str) -> dict[str, float]:
    """Return the median images a second of each contender over rounds in which all take their turn."""
    race = Race(device=device)
    for contender in contenders:
        race.join(contender)
    for _ in range(rounds):
        race.turn()
    return {contender.label: race.record["images_per_second"][name] for name, (contender, _) in race.ready.items()}


def load_images() -> ArrayDataset:
    """Return CIFAR-10, or noise of its size."""
    try:
        return load_dataset("cifar10")
    except UserError:
        chance = np.random.default_rng(0)
        splits = [
            ArraySplit(
                chance.integers(0, 256, (count, 3, 32, 32), dtype=np.uint8),
                chance.integers(0, 10, count, dtype=np.uint8),
            )
            for count in (50_000, 10_000)
        ]
        return ArrayDataset(name="noise", class_names=tuple("0123456789"), train=splits[0], test=splits[1])


def main() -> None:
    """Measure and print one row a contender."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", type=listed(network), default="resnet-20,resnet-56,resnet-110")
    parser.add_argument(
        "--ours", type=listed(one_of(OURS)), default=",".join(OURS), help="which of ours: " + ", ".join(OURS)
    )
    parser.add_argument("--together", type=listed(whole), default="1,8", help="trials at once")
    parser.add_argument("--rounds", type=whole, default=5)
    # On CUDA our batches are made for some 170 iterations at once: a round must have its share of them.
    parser.add_argument("--iterations", type=whole, default=510 if torch.cuda.is_available() else 40, help="ours")
    parser.add_argument("--peer-iterations", type=whole, default=100 if torch.cuda.is_available() else 40)
    parser.add_argument("--workers", type=int, default=min(4, os.cpu_count() or 1), help="of the peer's DataLoader")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    device = choose_device()
    dataset = load_images()
    about = f"{describe_machine(device)}, {dataset.name}, {given.workers} workers"
    console = Console(width=120)
    console.print(
        f"{about}; images a second in all, median of {given.rounds} rounds of {given.iterations} x {BATCH}, "
        f"the peer's of {given.peer_iterations}",
        soft_wrap=True,
    )
    table = Table("network", "contender", "images a second", "times the peer", box=None, padding=(0, 3, 0, 0))
    records, record = [], Record(given.json)
    for name in given.networks:
        contenders = list_contenders(name, dataset, device=device, given=given)
        speeds = measure(contenders, rounds=given.rounds, device=device)
        for label, speed in speeds.items():
            table.add_row(name, label, f"{speed:,.0f}", f"{speed / speeds[PEER]:.2f}" if PEER in speeds else "")
        records.append({"network": name, **speeds})
        record.keep(about=about, images_per_second=records)
    console.print(table)


if __name__ == "__main__":
    main()
