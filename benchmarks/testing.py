"""How fast photographs are tested: `reslab evaluate` beside torchvision's reference evaluation, in one run.

    python benchmarks/testing.py FOLDER [--network resnet-50] [--weights FILE] [--protocols 1-crop,10-crop,multi-scale]
                                 [--precisions bf16,fp32] [--images N] [--json FILE]

FOLDER has val/<class>/*. The peer is what references/classification of torchvision does: Pillow and transforms in
DataLoader workers, eager float32, errors read batch by batch; it knows one crop, and ten by its TenCrop. Images a
second are after the first fifth, ours and the peer's, for workers start meanwhile. The start is what the command
`reslab evaluate` takes beyond its images, from its first import on; it needs --weights.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import torchvision
from rich.console import Console
from rich.table import Table
from torch.utils.data import DataLoader, Subset
from torchvision import transforms
from torchvision.datasets import ImageFolder

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.arguments import listed, network, one_of, whole
from benchmarks.record import Record, describe_machine
from reslab.data.catalogue import open_data
from reslab.data.dataset import Dataset
from reslab.errors import UserError
from reslab.experiments.evaluate import evaluate_subject
from reslab.experiments.trained import Trained, choose_inputs, load_file
from reslab.networks import build
from reslab.runtime.execution import choose_device
from reslab.runtime.listener import Listener
from reslab.spec import find
from reslab.spec.preprocess import IMAGENET_MEAN, IMAGENET_STD, TORCHVISION
from reslab.tasks.catalogue import find_shown
from reslab.tasks.views import PROTOCOLS

WARM_UP = 1024  # images: kernels are chosen on their first ones, and processes are worth their start
PEER_BATCH = {"1-crop": 64, "10-crop": 16}


def measure_ours(
    trained: Trained, dataset: Dataset, *, protocol: str, precision: Any, images: int | None, device: str
) -> dict[str, float]:
    """Return images a second of one protocol after those that were read while workers started; and the errors."""
    options = {"protocol": protocol, "precision": precision}
    warm = min(WARM_UP, images or len(dataset.test))
    evaluate_subject(choose_inputs(trained, dataset, images=warm, device=device), **options)
    subject = choose_inputs(trained, dataset, images=images, device=device)
    _wait(device)
    marks = [(time.perf_counter(), 0)]
    listener = Listener(progress=lambda done, _: marks.append((time.perf_counter(), done)))
    found = evaluate_subject(subject, **options, listener=listener)
    marks[-1] = (time.perf_counter(), found["images"])  # the last are counted when the device is done with them
    errors = {score.name: found[score.name] for score in find_shown(trained.network).scores[:2]}
    return {"images_per_second": rate_after_start(marks), **errors, "seconds": marks[-1][0] - marks[0][0]}


@torch.inference_mode()
def measure_peer(folder: Path, *, protocol: str, images: int | None, device: str) -> float:
    """Return images a second of torchvision's ResNet-50 as its reference script tests it, weights as they come."""
    centre = [transforms.Resize(256), transforms.CenterCrop(224)]
    end = transforms.Compose([transforms.ToTensor(), transforms.Normalize(IMAGENET_MEAN, IMAGENET_STD)])
    ten = [
        transforms.Resize(256),
        transforms.TenCrop(224),
        transforms.Lambda(lambda crops: torch.stack([end(crop) for crop in crops])),
    ]
    steps = transforms.Compose([*centre, end] if protocol == "1-crop" else ten)
    photos = ImageFolder(str(next(path for path in folder.iterdir() if path.name == "val")), steps)
    chosen = Subset(photos, range(min(images or len(photos), len(photos))))
    model = torchvision.models.resnet50().eval().to(device)
    size = min(PEER_BATCH[protocol], -(-len(chosen) // 4))
    pinned = device.startswith("cuda")
    loader = DataLoader(chosen, batch_size=size, num_workers=os.cpu_count() or 1, pin_memory=pinned)
    marks = [(time.perf_counter(), 0)]
    for batch in loader:
        _look(model, batch, device)
        marks.append((time.perf_counter(), marks[-1][1] + len(batch[1])))
    return rate_after_start(marks)


def rate_after_start(marks: Sequence[tuple[float, int]]) -> float:
    """Return images a second, given times and how many were done then, after a fifth: workers start meanwhile."""
    last, total = marks[-1]
    first, done = next((mark for mark in marks[:-1] if mark[1] >= total / 5), marks[0])
    return (total - done) / (last - first)


def _look(model: torch.nn.Module, batch: Any, device: str) -> float:
    images, labels = (part.to(device, non_blocking=True) for part in batch)
    views = images if images.dim() == 4 else images.flatten(0, 1)
    logits = model(views).unflatten(0, (len(labels), -1)).softmax(-1).mean(1)
    return float((logits.argmax(1) != labels).sum())  # the script reads every batch's errors


def measure_start(given: argparse.Namespace, rate: float, images: int) -> dict[str, float]:
    """Return the seconds of a whole command, and those of its start: all but its images at this rate."""
    words = [sys.executable, "-m", "reslab", "evaluate", given.weights, f"data={given.folder}", "precision=fp32"]
    began = time.perf_counter()
    subprocess.run([*words, "--json"], check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - began
    return {"command_seconds": seconds, "start_seconds": seconds - images / rate}


def _wait(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def main() -> None:
    """Measure every protocol and precision and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--network", type=network, default="resnet-50")
    parser.add_argument("--weights")
    parser.add_argument("--protocols", type=listed(one_of(PROTOCOLS)), default=list(PROTOCOLS))
    parser.add_argument("--precisions", type=listed(one_of(("bf16", "fp32"))), default=["bf16", "fp32"])
    parser.add_argument("--images", type=whole)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    console, record, device = Console(width=120), Record(given.json), choose_device()
    dataset = open_data(str(given.folder))
    if given.weights:
        trained = load_file(given.weights, name=given.network)
    else:
        built = build(find(given.network, {"classes": len(dataset.class_names)})).eval()
        built.preprocess = TORCHVISION
        trained = Trained(origin=given.network, network=built)
    about, start = describe_machine(device), {}
    console.print(f"{about}; {len(dataset.test):,} photographs\n")
    table = Table("protocol", "precision", "images/s", "peer, fp32", "ratio", "errors", box=None, padding=(0, 3, 0, 0))
    rows: list[dict[str, Any]] = []
    for protocol in given.protocols:
        peer = None
        if protocol in PEER_BATCH:
            peer = measure_peer(given.folder, protocol=protocol, images=given.images, device=device)
        for precision in given.precisions:
            options = {"protocol": protocol, "precision": precision, "images": given.images, "device": device}
            ours = measure_ours(trained, dataset, **options)
            speed, *errors, _ = ours.values()
            told = "" if peer is None else f"{peer:,.0f}"
            ratio = "" if peer is None else f"{speed / peer:.2f}"
            table.add_row(protocol, precision, f"{speed:,.0f}", told, ratio, " / ".join(f"{one:.2f}" for one in errors))
            rows.append({"protocol": protocol, "precision": precision, "peer": peer, **ours})
            if (protocol, precision) == ("1-crop", "fp32") and given.weights and given.images is None:
                start = measure_start(given, speed, len(dataset.test))
            record.keep(about=about, photographs=len(dataset.test), **start, rows=rows)
    console.print(table)
    if start:
        console.print(
            f"\nreslab evaluate, one crop: {start['command_seconds']:.1f} s, start {start['start_seconds']:.1f} s"
        )


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"{error}")
