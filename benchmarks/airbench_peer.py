"""airbench as its author trains it, on our arrays: seconds by its own clock, and test error.

    python benchmarks/airbench_peer.py [--level 94] [--seeds 5]

Needs `pip install airbench` and a GPU. Its clock counts the training and one test, which averages mirrored and shifted
views of each image; the error of the image as it is stands beside it. What it takes to load data and to warm up is not
counted, as preparation is not in `benchmarks/fast.py`, which runs this beside ours by `--beside LEVEL`.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import io
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.arguments import whole
from reslab.data.arrays.dataset import ArrayDataset
from reslab.data.arrays.split import ArraySplit
from reslab.data.catalogue import load_dataset
from reslab.errors import UserError
from reslab.json_text import to_json

LEVELS = ("94", "95", "96")  # percent right


def measure_beside(level: str, *, seeds: int) -> dict[str, Any]:
    """Measure in a process of its own, as importing airbench changes how torch computes."""
    words = [sys.executable, __file__, "--level", level, "--seeds", str(seeds)]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise UserError(f"airbench{level} failed; `{' '.join(words[1:])}` shows how")
    return json.loads(done.stdout)


def measure(level: str, dataset: ArrayDataset, *, seeds: int) -> dict[str, Any]:
    """Train with every seed, and return the times and errors."""
    try:
        import airbench  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise UserError("airbench is not here; install it with `pip install airbench`") from None
    if not torch.cuda.is_available():
        raise UserError("airbench needs a GPU, and there is none here")
    train, warm_up = (getattr(airbench, f"{verb}{level}") for verb in ("train", "warmup"))
    outcomes = []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        write_data(dataset, Path("cifar10"))
        with contextlib.redirect_stdout(io.StringIO()):
            warm_up()
        for seed in range(1, seeds + 1):
            torch.manual_seed(seed)
            with contextlib.redirect_stdout(io.StringIO()) as told:
                train()
            outcomes.append({"seed": seed, **read_outcome(told.getvalue())})
    version = importlib.metadata.version("airbench")
    return {"name": f"airbench{level}", "version": version, "outcomes": outcomes}


def write_data(dataset: ArrayDataset, folder: Path) -> None:
    """Write images and labels where airbench looks for them, so that it fetches nothing."""
    folder.mkdir()
    for name, split in (("train", dataset.train), ("test", dataset.test)):
        torch.save(_arrange(split) | {"classes": list(dataset.class_names)}, folder / f"{name}.pt")


def _arrange(split: ArraySplit) -> dict[str, Any]:
    images = torch.from_numpy(split.images).permute(0, 2, 3, 1).contiguous()
    return {"images": images, "labels": torch.from_numpy(split.targets).long()}


def read_outcome(told: str) -> dict[str, float]:
    """Read seconds and errors off the last row of the table it prints."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in told.splitlines() if line.startswith("|")]
    last = dict(zip(rows[0], rows[-1], strict=True))
    return {
        "training_seconds": float(last["total_time_seconds"]),
        "error_percent": 100 * (1 - float(last["tta_val_acc"])),
        "single_view_error_percent": 100 * (1 - float(last["val_acc"])),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the outcomes as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--level", choices=LEVELS, default="94")
    parser.add_argument("--seeds", type=whole, default=5)
    given = parser.parse_args(arguments)
    print(to_json(measure(given.level, load_dataset("cifar10"), seeds=given.seeds), indent=2))


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"airbench_peer.py: {error}")
