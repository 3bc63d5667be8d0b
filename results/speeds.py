"""What the benchmarks measured on a GPU, as tables: training beside the peers, the depths of Table 1.

The files of `results/speed` are as `benchmarks/*.py --json` and `reslab reproduce table-1 --measure --json` write them,
with the command and the commit.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from reslab.cli.show import memory
from reslab.report.markdown import write_table
from reslab.report.words import count
from reslab.spec.recipe import find_recipe

SPEED = Path(__file__).parent / "speed"
ITERATIONS, BATCH = find_recipe("imagenet-paper").iterations, find_recipe("imagenet-paper").batch


def write_training() -> str:
    """Write images a second in training, the peer's first, and how many times the peer's ours are."""
    return "\n\n".join([_write_cifar(_read("cifar")), _write_resnet50(_read("resnet50"))])


def write_depths() -> str:
    """Write time and memory of the ResNets of Table 1 where they were measured."""
    record = _read("table-1")
    heads = ("", "precision", "batch", "forward, ms", "and backward, ms", "memory of a step", "largest batch")
    heads += ("the paper's 600,000 iterations, hours",)
    rows = [
        [
            one["network"],
            one["precision"],
            str(one["batch"]),
            *[f"{1e3 * one[name]:,.1f}" for name in ("forward_seconds", "step_seconds")],
            memory(one["peak_memory_bytes"]),
            count(one["largest_batch"]),
            f"{ITERATIONS * one['step_seconds'] / 3600:.1f}" if one["batch"] == BATCH else "",
        ]
        for one in record["measured"]
    ]
    (device,) = {one["device"] for one in record["measured"]}
    by = f"Measured by torch's kernels, uncaptured, on {_where(device, record)} (`{record['command']}`):"
    return "\n\n".join([by, write_table(heads, rows, left=(0, 1))])


def _write_cifar(record: dict[str, Any]) -> str:
    """Write the loop for CIFAR-10 beside the one people use."""
    speeds = [{**one} for one in record["images_per_second"]]
    rows = []
    for one in speeds:
        network, peer = one.pop("network"), one.pop("peer")
        rows.append([f"{network}, batch 128", f"{peer:,.0f}", *[_beside(speed, peer) for speed in one.values()]])
    heads = ["training, images a second", "the usual loop", *speeds[0]]
    return write_table(heads, rows)


def _write_resnet50(record: dict[str, Any]) -> str:
    """Write ResNet-50 beside torchvision's."""
    speeds = record["images_per_second"]
    names = {
        "torchvision, eager": "peer, eager",
        "torchvision, compiled": "peer, compiled",
        "ours": "ours",
    }
    found = {head: speeds[f"training: {label}"] for head, label in names.items()}
    peer = found["torchvision, eager"]
    cells = [f"{speed:,.0f}" if speed == peer else _beside(speed, peer) for speed in found.values()]
    return write_table(["training, images a second", *found], [["resnet-50-v1.5, 224×224, batch 256", *cells]])


def _beside(speed: float, peer: float) -> str:
    return f"{speed:,.0f} ({speed / peer:.2f}×)"


def _where(device: str, record: dict[str, Any]) -> str:
    return f"{device}, torch {record['versions']['torch']}"


def _read(name: str) -> dict[str, Any]:
    return json.loads((SPEED / f"{name}.json").read_text(encoding="utf-8"))
