"""Exported files beside the eager network: how fast on the CPU, or how right, in each runtime and precision.

    python benchmarks/exports.py FOLDER --calibrate FOLDER [--network resnet-50] [--weights imagenet] [--threads 2]
                                 [--batches 1,16] [--rounds N] [--errors] [--json FILE]

The network is exported as `reslab export --int8 --calibrate FOLDER` does it; OpenVINO reads the same two ONNX files as
onnxruntime. FOLDER has val/<class>/*, and none of the photographs that are calibrated on. All run on as many threads,
each batch from pixels to logits, in turns in one run. OpenVINO is compiled for the size of the batch. With --errors
nothing is timed: the files are shown every photograph, the same frames in each runtime. The float32 file stands for the
network there: it is kept only if it gives the same logits.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.arguments import listed, network, whole
from benchmarks.race import Advance, Contender, Race, tabulate
from benchmarks.record import Record, describe_machine
from benchmarks.runtimes import FLOAT32, INT8, TORCH, Way, list_ways, name_versions
from reslab.data.catalogue import open_data
from reslab.delivery.deployed import Deployed
from reslab.delivery.intake import take_in
from reslab.delivery.pictures import LabelledData, find_images
from reslab.delivery.quantization import quantize
from reslab.errors import UserError
from reslab.experiments.export import (
    Calibration,
    choose_calibration,
    choose_int8_data,
    choose_pictures,
    deploy,
    write_file,
)
from reslab.experiments.subjects import load_trained
from reslab.tasks.classification.scores import ERROR, TOP5_ERROR
from reslab.tasks.task import find_task

LEAST = 16  # images of a turn
SCORES = (ERROR, TOP5_ERROR)
PRECISIONS = (FLOAT32, INT8)  # of the two files


def write_files(deployed: Deployed, calibration: Calibration, folder: Path) -> tuple[Path, Path]:
    """Write both files."""
    source, small = folder / "network.onnx", folder / "network-int8.onnx"
    write_file(deployed, source, "onnx", choose_pictures(deployed)[1])
    quantize(deployed, source, small, calibration.pictures)
    return source, small


def measure_speed(
    ways: Sequence[Way], data: LabelledData, deployed: Deployed, *, batches: Sequence[int], rounds: int, race: Race
) -> None:
    """Let all ways run batches of photographs in turns."""
    frames = torch.cat([deployed.intake.frame(picture) for picture in data.test.spread(max(batches))])
    for count in batches:
        pixels = frames[torch.arange(count) % len(frames)].contiguous()
        for way in ways:
            make = partial(advance, way, pixels)
            iterations = -(-LEAST // count)
            race.join(Contender(kind=f"batch {count}", label=way.label, make=make, images=count, iterations=iterations))
    for _ in range(rounds):
        race.turn()


def advance(way: Way, pixels: Tensor) -> Advance:
    """Return what runs a batch so many times."""
    run = way.open(len(pixels))

    def run_again(iterations: int) -> None:
        for _ in range(iterations):
            run(pixels)

    return run_again


def count_errors(ways: Sequence[Way], data: LabelledData, deployed: Deployed) -> Iterator[dict[str, Any]]:
    """Yield the errors of each way on the same frames, one by one, and how often its first guess is the first way's."""
    task = find_task(deployed.network.task)
    outputs, images = deployed.network.spec.classes, len(data.test)
    meters = [task.make_meter(outputs=outputs, images=images, device="cpu") for _ in ways]
    runners, same = [way.open(1) for way in ways], [0] * len(ways)
    shown = track(
        take_in(data.test, deployed.intake.frame),
        total=images,
        description="errors",
        console=Console(stderr=True),
        transient=True,
    )
    for picture, frame in shown:
        logits = [run(frame.contiguous()) for run in runners]
        for index, (meter, found) in enumerate(zip(meters, logits, strict=True)):
            meter.add(found, torch.tensor([picture.label]))
            same[index] += int(found.argmax() == logits[0].argmax())
    for way, meter, agreed in zip(ways, meters, same, strict=True):
        scores = meter.read().logged()
        errors = {score.name: scores[score.name] for score in SCORES}
        yield {"runtime": way.runtime, "precision": way.precision, **errors, "same_guess": agreed}


def tabulate_errors(rows: Sequence[dict[str, Any]], images: int) -> Table:
    """Return errors, and beside them by how many points they are above the first's."""
    table = Table("runtime", "precision", "top-1 / top-5 error %", "difference", "same first guess %", box=None)
    for row in rows:
        errors = " / ".join(f"{row[score.name]:.2f}" for score in SCORES)
        more = " / ".join(f"{row[score.name] - rows[0][score.name]:+.2f}" for score in SCORES)
        table.add_row(row["runtime"], row["precision"], errors, more, f"{100 * row['same_guess'] / images:.2f}")
    return table


def main() -> None:
    """Export, then measure one or the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--calibrate", type=Path, required=True)
    parser.add_argument("--network", type=network, default="resnet-50")
    parser.add_argument("--weights", default="imagenet")
    parser.add_argument("--threads", type=whole, default=2)
    parser.add_argument("--batches", type=listed(whole), default="1,16")
    parser.add_argument("--rounds", type=whole, default=10)
    parser.add_argument("--errors", action="store_true")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    console, record = Console(width=120), Record(given.json)
    dataset = open_data(str(given.folder))
    deployed = deploy(load_trained(given.network, {"weights": given.weights}), {})
    data = choose_int8_data(deployed, dataset)
    calibration = choose_calibration(data, images=find_images([given.calibrate]))
    with tempfile.TemporaryDirectory() as folder:
        print("exporting", file=sys.stderr)
        files = write_files(deployed, calibration, Path(folder))
        ways = list_ways(deployed, *files, threads=given.threads)
        known: dict[str, Any] = {
            "about": f"{describe_machine('cpu')}, {given.threads} threads",
            "runtimes": name_versions(),
            "network": given.network,
            "weights": given.weights,
            "data": dataset.name,
            "fingerprint": dataset.fingerprint,
            "calibrated_on": calibration.words,
            "size_bytes": {precision: path.stat().st_size for precision, path in zip(PRECISIONS, files, strict=True)},
        }
        console.print(f"{known['about']}; {given.network}, calibrated on {calibration.words}\n")
        if given.errors:
            rows = list(count_errors([way for way in ways if way.runtime != TORCH], data, deployed))
            record.keep(**known, images=len(data.test), rows=rows)
            console.print(tabulate_errors(rows, len(data.test)))
            return
        race = Race(device="cpu", save=lambda found: record.keep(**known, **found))
        measure_speed(ways, data, deployed, batches=given.batches, rounds=given.rounds, race=race)
    console.print(tabulate(race.record["images_per_second"]))
    for name, error in race.record["failed"].items():
        console.print(f"{name} failed: {error[:300]}", highlight=False)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"{error}")
