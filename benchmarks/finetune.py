"""How to start from ImageNet weights: settings compared on held-out images, beside PyTorch's tutorial on it.

    python benchmarks/finetune.py study ants-bees cifar10:100 [--only rate,frozen] [--json FILE] [field=value ...]
    python benchmarks/finetune.py beside ants-bees [--seeds 3] [--tutorial-epochs 25] [--json FILE] [field=value ...]

`study` trains each of `SETTINGS` and looks at a part of the training images that seed draws and holds out; test images
decide nothing. `beside` trains `recipe=finetune` on all training images and tests it, beside the same network from
random weights by `recipe=photos`, and beside the tutorial's own loop with the same weights (tutorial.py). Data are
folders; NAME:N is the folder NAME-N here, written first if need be: the first N images of each class of a dataset, for
training and tests.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))

import reslab
from benchmarks.arguments import whole
from benchmarks.record import Record, describe_machine
from benchmarks.tutorial import EPOCHS, follow_tutorial
from reslab.data.catalogue import load_dataset, open_data
from reslab.errors import UserError
from reslab.runtime.execution import choose_device

NETWORK, WEIGHTS = "resnet-50", "imagenet"
HELD_OUT = 0.25  # of the training images
RATE, BODY, DECAY = "recipe.optimizer.learning_rate", "recipe.optimizer.body_rate", "recipe.optimizer.stage_decay"
KIND, LENGTH, FREEZE, NORM = "recipe.optimizer.kind", "recipe.iterations", "recipe.freeze", "network.norm"

Fields = dict[str, str]


def _spread(name: str, values: Sequence[str], **fixed: str) -> dict[str, Fields]:
    words = {"rate": RATE, "body": BODY, "decay": DECAY, "kind": KIND, "length": LENGTH, "freeze": FREEZE, "norm": NORM}
    told = " ".join(f"{word}={value}" for word, value in fixed.items())
    given = {words[word]: value for word, value in fixed.items()}
    return {f"{told} {name}={value}".strip(): given | {words[name]: value} for value in values}


# One thing at a time from `recipe=photos`, the recipe before there was one for weights.
SETTINGS: dict[str, dict[str, Fields]] = {
    "rate": _spread("rate", ("0.05", "0.02", "0.01", "0.005", "0.002")),
    "length": _spread("length", ("100", "200"), rate="0.005"),
    "frozen": _spread("rate", ("0.02", "0.005"), freeze="body"),
    "last": _spread("rate", ("0.005",), freeze="conv4"),
    "body": _spread("rate", ("0.02",), body="0.1"),
    "decay": _spread("rate", ("0.02", "0.01"), decay="0.5"),
    "norms": _spread("rate", ("0.005",), norm="frozen"),
    "adamw": _spread("rate", ("0.0001",), kind="adamw"),
}


@dataclass(frozen=True, kw_only=True)
class Job:
    """One training: on which folder, with which fields and seed, from which weights; `held_out` of its images."""

    data: Path
    fields: Fields
    seed: int
    recipe: str
    held_out: float = 0.0
    weights: str | None = WEIGHTS


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Errors at the end, on held-out images if there were any, and the seconds that it took in all."""

    seed: int
    seconds: float
    error_percent: float
    validation_error_percent: float | None = None


def train(job: Job) -> Outcome:
    """Train as `reslab train` does, in a folder that is removed."""
    held = {"data.validation": str(job.held_out), "data.held_out_seed": str(job.seed)} if job.held_out else {}
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as runs:
        run = reslab.train(
            job.data,
            NETWORK,
            weights=job.weights,
            recipe=job.recipe,
            runs=runs,
            seed=job.seed,
            fields={"recipe.evaluate_every": job.fields.get(LENGTH, "400")} | held | job.fields,
            progress=False,
            warn=lambda sentence: print(sentence, file=sys.stderr),
        )
        last = run.log()[-1]
    return Outcome(
        seed=job.seed,
        seconds=time.perf_counter() - began,
        error_percent=last["test_error_percent"],
        validation_error_percent=last.get("validation_error_percent"),
    )


def train_all(jobs: Sequence[Job], *, together: int) -> Iterator[Outcome | str]:
    """Yield what trainings came to, in their order, or what went wrong; `together` run at once."""
    share = str(max(1, (os.cpu_count() or 1) // together))
    for shared in ("RESLAB_WORKERS", "OMP_NUM_THREADS"):  # else each would take all cores
        os.environ.setdefault(shared, share)
    with ProcessPoolExecutor(together, mp_context=multiprocessing.get_context("spawn")) as processes:
        for future in [processes.submit(train, job) for job in jobs]:
            try:
                yield future.result()
            except UserError as error:
                yield str(error)


def open_folder(name: str) -> Path:
    """Return the folder of these photographs, written here first where a dataset is named."""
    folder = Path(name.replace(":", "-"))
    if ":" not in name or folder.exists():
        return folder
    known, _, count = name.partition(":")
    dataset = load_dataset(known)
    for part, split in (("train", dataset.train), ("val", dataset.test)):
        for number, word in enumerate(dataset.class_names):
            (folder / part / word).mkdir(parents=True)
            for index in np.flatnonzero(split.targets == number)[: int(count)]:
                image = Image.fromarray(np.asarray(split.images[index]).transpose(1, 2, 0))
                image.save(folder / part / word / f"{index:05}.png")
    return folder


def count_images(folders: Mapping[str, Path]) -> dict[str, dict[str, int]]:
    """Return how many images there are for training and for tests."""
    opened = {name: open_data(str(folder)) for name, folder in folders.items()}
    return {name: {"train": len(data.train), "test": len(data.test)} for name, data in opened.items()}


def describe(outcomes: Sequence[Outcome | str], metric: str) -> str:
    """Say the mean of an error over seeds."""
    if failed := [outcome for outcome in outcomes if isinstance(outcome, str)]:
        return failed[0][:60]
    values = [getattr(outcome, metric) for outcome in outcomes]
    spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.1f}{spread}"


def study(given: argparse.Namespace, keep: Callable[..., None], folders: Mapping[str, Path]) -> Table:
    """Train every setting on every folder with every seed."""
    groups = given.only.split(",") if given.only else list(SETTINGS)
    settings = {name: fields for group in groups for name, fields in SETTINGS[group].items()}
    asked = [(data, name) for data in folders for name in settings]
    jobs = [
        Job(
            data=folders[data],
            fields=settings[name] | given.fields,
            seed=seed,
            held_out=HELD_OUT,
            recipe="photos",
        )
        for data, name in asked
        for seed in range(1, given.seeds + 1)
    ]
    table = Table("data", "setting", "held out %", "test %", "s", box=None, padding=(0, 3, 0, 0))
    ended, kept = train_all(jobs, together=given.together), []
    for data, name in asked:
        outcomes = [next(ended) for _ in range(given.seeds)]
        told = [outcome if isinstance(outcome, str) else asdict(outcome) for outcome in outcomes]
        kept.append({"data": data, "setting": name, "fields": settings[name] | given.fields, "outcomes": told})
        keep(together=given.together, held_out=HELD_OUT, settings=kept)
        errors = [describe(outcomes, metric) for metric in ("validation_error_percent", "error_percent", "seconds")]
        table.add_row(data, name, *errors)
        print(data, name, *errors, sep="   ", file=sys.stderr, flush=True)
    return table


def beside(given: argparse.Namespace, keep: Callable[..., None], folders: Mapping[str, Path]) -> Table:
    """Train by our recipe, from random weights and by the tutorial, one after the other, seed by seed."""
    table = Table("data", "", "test %", "s", box=None, padding=(0, 3, 0, 0))
    kept: dict[str, Any] = {}
    device = choose_device()
    for data, folder in folders.items():
        classes = len(open_data(str(folder)).class_names)
        ours, scratch, tutorial = kept.setdefault(data, {"ours": [], "scratch": [], "tutorial": []}).values()
        for seed in range(1, given.seeds + 1):
            job = Job(data=folder, fields=given.fields, seed=seed, recipe="finetune")
            ours.append(asdict(train(job)))
            scratch.append(asdict(train(replace(job, recipe="photos", weights=None))))
            network = reslab.create_model(NETWORK, weights=WEIGHTS, num_classes=classes)
            until, seconds = given.tutorial_epochs, ours[-1]["seconds"]
            followed = follow_tutorial(network, folder, epochs=until, ours=seconds, seed=seed, device=device)
            tutorial.append(followed)
            keep(fields=given.fields, tutorial_epochs=until, data=kept)
        rows = {
            "ours": ours,
            "from scratch": scratch,
            "tutorial, in our time": [one["in_our_time"] for one in tutorial],
            f"tutorial, epochs: {given.tutorial_epochs}": [one["epochs"][-1] for one in tutorial],
        }
        for label, outcomes in rows.items():
            means = [statistics.mean(one[name] for one in outcomes) for name in ("error_percent", "seconds")]
            table.add_row(data, label, *[f"{mean:.1f}" for mean in means])
    return table


def main() -> None:
    """Train, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("study", "beside"))
    parser.add_argument("words", nargs="+", metavar="data or field=value")
    parser.add_argument("--seeds", type=whole, default=3)
    parser.add_argument("--only", help=f"groups of settings: {', '.join(SETTINGS)}")
    parser.add_argument("--together", type=whole, default=4 if torch.cuda.is_available() else 1)
    parser.add_argument("--tutorial-epochs", type=whole, default=EPOCHS)
    parser.add_argument("--json", type=Path)
    given = parser.parse_intermixed_args()
    given.fields = dict(word.split("=", 1) for word in given.words if "=" in word)
    record, about, began = Record(given.json), describe_machine(choose_device()), time.perf_counter()
    folders = {folder.name: folder for word in given.words if "=" not in word for folder in [open_folder(word)]}
    images = count_images(folders)

    def keep(**numbers: object) -> None:
        record.keep(about=about, images=images, seconds=time.perf_counter() - began, **numbers)

    table = {"study": study, "beside": beside}[given.what](given, keep, folders)
    Console(width=120).print(about)
    Console(width=120).print(table)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"finetune.py: {error}")
