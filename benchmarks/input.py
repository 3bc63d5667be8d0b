"""How fast photographs become batches: ours beside torchvision's ImageFolder and transforms, in turns in one run.

    python benchmarks/input.py FOLDER [--workers 0,1,2] [--rounds 5] [--as 500x375] [--json FILE]

FOLDER has train/<class>/*; `--as` resizes its photographs first (JPEG, quality 90), as ImageNet's are 500x375 mostly.
Both take a random resized crop of 224 pixels, flipped at random. The peer decodes by Pillow and ends with normalized
floats, as its users write it. Ours hands bytes on, as it does beside a GPU, which then scales and centres them
("bytes"); or does that on the CPU too ("floats"). Images a second, medians; in brackets: times the peer.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from PIL import Image
from rich.console import Console
from rich.progress import track
from rich.table import Table
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import ImageFolder

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.arguments import whole
from benchmarks.record import Record, describe_machine
from reslab.data.photos.folder import PhotoDataset, read_folder
from reslab.data.photos.pixels import read_pixels
from reslab.data.workers import work_ahead
from reslab.errors import UserError
from reslab.experiments.trials import read_trial
from reslab.runtime.listener import DEAF
from reslab.runtime.processes import ALONE
from reslab.spec.preprocess import IMAGENET_MEAN, IMAGENET_STD

SIDE, BATCH = 224, 32


def peer_batches(folder: Path, *, workers: int) -> Iterator[object]:
    """Yield batches as a torchvision user has them."""
    steps = [
        transforms.RandomResizedCrop(SIDE),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize(IMAGENET_MEAN, IMAGENET_STD),
    ]
    photos = ImageFolder(str(folder / "train"), transforms.Compose(steps))
    while True:
        yield from DataLoader(photos, batch_size=BATCH, shuffle=True, num_workers=workers, drop_last=True)


def our_batches(dataset: PhotoDataset, *, workers: int, floats: bool) -> Iterator[object]:
    """Yield batches of bytes, or ready for a network on the CPU."""
    os.environ["RESLAB_WORKERS"] = str(workers)
    fields = {"network": "resnet-50", "network.input_size": SIDE, "recipe": "imagenet-common", "recipe.batch": BATCH}
    trial = read_trial(fields, dataset)
    feed = dataset.make_feed(trial, device="cpu", processes=ALONE, folder=None, listener=DEAF)
    if not floats:
        yield from work_ahead(feed.crops, feed.wanted(0), workers=workers)
    for step in itertools.count():
        yield feed.load(step, 1)


def measure(make: Callable[[], Iterator[object]], *, count: int) -> float:
    """Return images a second over `count` batches, after those that were made while the workers started."""
    batches = make()
    for _ in range(3):
        next(batches)
    began = time.perf_counter()
    for _ in range(count):
        next(batches)
    return count * BATCH / (time.perf_counter() - began)


def resize_photos(source: Path, target: Path, size: tuple[int, int]) -> None:
    """Write every training photograph of a folder again, in one size."""
    dataset = read_folder(source)
    for split in (dataset.train, dataset.test):
        for index, file in enumerate(split.files):
            path = (target / file).with_suffix(".jpg")
            path.parent.mkdir(parents=True, exist_ok=True)
            image = Image.fromarray(read_pixels(split.path(index)))
            image.resize(size, Image.Resampling.BICUBIC).save(path, quality=90)


def main() -> None:
    """Measure every number of workers and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--workers", default="0,1,2")
    parser.add_argument("--rounds", type=whole, default=5)
    parser.add_argument("--batches", type=whole, default=20)
    parser.add_argument("--as", dest="size")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    console, record = Console(width=120), Record(given.json)
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder
        if given.size:
            width, height = map(int, given.size.split("x"))
            folder = Path(temporary) / "photos"
            resize_photos(given.folder, folder, (width, height))
        dataset = read_folder(folder)
        sizes = [dataset.train.path(index).stat().st_size for index in range(len(dataset.train))]
        about = describe_machine("cpu")
        console.print(f"{about}; {len(sizes)} photographs of {statistics.mean(sizes) / 1e3:.0f} kB\n")
        table = Table("workers", "peer", "ours, bytes", "ours, floats", box=None, padding=(0, 3, 0, 0))
        records = []
        for workers in map(int, given.workers.split(",")):
            makes: dict[str, Callable[[], Iterator[object]]] = {
                "peer": lambda workers=workers: peer_batches(folder, workers=workers),
                "bytes": lambda workers=workers: our_batches(dataset, workers=workers, floats=False),
                "floats": lambda workers=workers: our_batches(dataset, workers=workers, floats=True),
            }
            speeds: dict[str, list[float]] = {name: [] for name in makes}
            for _ in track(range(given.rounds), f"{workers} workers", console=Console(stderr=True), transient=True):
                for name, make in makes.items():
                    speeds[name].append(measure(make, count=given.batches))
            medians = {name: statistics.median(values) for name, values in speeds.items()}
            ours = [f"{medians[name]:,.0f} ({medians[name] / medians['peer']:.2f})" for name in ("bytes", "floats")]
            table.add_row(str(workers), f"{medians['peer']:,.0f}", *ours)
            records.append({"workers": workers, "images_per_second": speeds})
        console.print(table)
        record.keep(about=about, rows=records)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"input.py: {error}")
