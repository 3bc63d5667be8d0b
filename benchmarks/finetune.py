"""How to start from ImageNet weights: settings compared on held-out images, beside PyTorch's tutorial on it.

    python benchmarks/finetune.py study ants-bees cifar10:100 [--only rate,frozen] [--json FILE] [field=value ...]
    python benchmarks/finetune.py beside ants-bees [--seeds 3] [--json FILE] [field=value ...]

`study` trains each of `SETTINGS` and looks at a part of the training images that seed draws and holds out; test images
decide nothing. `beside` trains `recipe=finetune` on all training images and tests it, beside the tutorial's own loop
with the same weights, prepared as these know images: batches of 4, SGD at 0.001, 25 epochs. Its error is told after
each epoch with the seconds so far, so that both can be read at the same time. Data are folders; NAME:N is the
folder NAME-N here, written first if need be: the first N images of each class of a dataset, for training and tests.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from rich.console import Console
from rich.table import Table
from torch.nn import functional as F
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import ImageFolder

sys.path.insert(0, str(Path(__file__).parent.parent))

import reslab
from benchmarks.arguments import whole
from benchmarks.record import Record, describe_machine
from reslab.data.catalogue import load_dataset
from reslab.data.preprocessing import preprocess_images
from reslab.errors import UserError
from reslab.runtime.execution import choose_device

WEIGHTS = "imagenet"
HELD_OUT = 0.25  # of the training images
TUTORIAL_EPOCHS, TUTORIAL_BATCH, TUTORIAL_WORKERS = 25, 4, 4
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
    """One training: on which folder, with which fields and seed, and how much of its images are held out."""

    data: Path
    fields: Fields
    seed: int
    held_out: float
    recipe: str


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
            weights=WEIGHTS,
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
    os.environ.setdefault("RESLAB_WORKERS", str(max(1, (os.cpu_count() or 1) // together)))
    with ProcessPoolExecutor(together, mp_context=multiprocessing.get_context("spawn")) as processes:
        for future in [processes.submit(train, job) for job in jobs]:
            try:
                yield future.result()
            except UserError as error:
                yield str(error)


def follow_tutorial(data: Path, *, seed: int, device: str) -> dict[str, Any]:
    """Train as https://pytorch.org/tutorials/beginner/transfer_learning_tutorial.html does; tell errors and seconds."""
    torch.manual_seed(seed)
    network = reslab.create_model("resnet-50", weights=WEIGHTS, num_classes=len(list((data / "train").iterdir())))
    network = network.to(device)
    known = network.preprocess
    to_bytes = transforms.PILToTensor()
    crops = [transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), to_bytes]
    centre = [transforms.Resize(256), transforms.CenterCrop(224), to_bytes]
    training, tested = (
        ImageFolder(str(data / part), transforms.Compose(steps)) for part, steps in (("train", crops), ("val", centre))
    )
    shared = {"batch_size": TUTORIAL_BATCH, "num_workers": TUTORIAL_WORKERS, "persistent_workers": True}
    batches, tests = DataLoader(training, shuffle=True, **shared), DataLoader(tested, **shared)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.001, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=7, gamma=0.1)
    done = known.__class__(**{**vars(known), "resize": None, "crop": None})  # the transforms have resized and cropped
    began, epochs = time.perf_counter(), []
    for _ in range(TUTORIAL_EPOCHS):
        network.train()
        for images, labels in batches:
            optimizer.zero_grad()
            prepared = preprocess_images(images.to(device), done, brightest=255)
            F.cross_entropy(network(prepared), labels.to(device)).backward()
            optimizer.step()
        schedule.step()
        network.eval()
        with torch.no_grad():
            wrong = sum(
                (network(preprocess_images(images.to(device), done, brightest=255)).argmax(1).cpu() != labels).sum()
                for images, labels in tests
            )
        epochs.append((time.perf_counter() - began, 100 * float(wrong) / len(tested)))
    return {"seed": seed, "epochs": [{"seconds": seconds, "error_percent": error} for seconds, error in epochs]}


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


def describe(outcomes: Sequence[Outcome | str], metric: str) -> str:
    """Say the mean of an error over seeds."""
    if failed := [outcome for outcome in outcomes if isinstance(outcome, str)]:
        return failed[0][:60]
    values = [getattr(outcome, metric) for outcome in outcomes]
    spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.1f}{spread}"


def study(given: argparse.Namespace, record: Record, folders: Mapping[str, Path], about: str) -> Table:
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
        record.keep(about=about, together=given.together, settings=kept)
        errors = [describe(outcomes, metric) for metric in ("validation_error_percent", "error_percent", "seconds")]
        table.add_row(data, name, *errors)
        print(data, name, *errors, sep="   ", file=sys.stderr, flush=True)
    return table


def beside(given: argparse.Namespace, record: Record, folders: Mapping[str, Path], about: str) -> Table:
    """Train by our recipe and by the tutorial, one after the other, seed by seed."""
    table = Table("data", "", "test %", "s", box=None, padding=(0, 3, 0, 0))
    kept: dict[str, Any] = {}
    device = choose_device()
    for data, folder in folders.items():
        ours, tutorial = kept.setdefault(data, {"ours": [], "tutorial": []}).values()
        for seed in range(1, given.seeds + 1):
            ours.append(asdict(train(Job(data=folder, fields=given.fields, seed=seed, held_out=0, recipe="finetune"))))
            tutorial.append(follow_tutorial(folder, seed=seed, device=device))
            record.keep(about=about, fields=given.fields, data=kept)
        ends = [outcome["epochs"][-1] for outcome in tutorial]
        soon = statistics.mean(outcome["seconds"] for outcome in ours)
        then = [max((e for e in one["epochs"] if e["seconds"] <= soon), key=_seconds, default=None) for one in tutorial]
        for label, outcomes in (("ours", ours), ("tutorial, all epochs", ends), ("tutorial, in our time", then)):
            reached = [outcome for outcome in outcomes if outcome is not None]
            if reached:
                means = [statistics.mean(one[name] for one in reached) for name in ("error_percent", "seconds")]
                table.add_row(data, label, *[f"{mean:.1f}" for mean in means])
    return table


def _seconds(epoch: Mapping[str, float]) -> float:
    return epoch["seconds"]


def main() -> None:
    """Train, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("study", "beside"))
    parser.add_argument("words", nargs="+", metavar="data or field=value")
    parser.add_argument("--seeds", type=whole, default=3)
    parser.add_argument("--only", help=f"groups of settings: {', '.join(SETTINGS)}")
    parser.add_argument("--together", type=whole, default=4 if torch.cuda.is_available() else 1)
    parser.add_argument("--json", type=Path)
    given = parser.parse_intermixed_args()
    given.fields = dict(word.split("=", 1) for word in given.words if "=" in word)
    record, about = Record(given.json), describe_machine(choose_device())
    folders = {word: open_folder(word) for word in given.words if "=" not in word}
    table = {"study": study, "beside": beside}[given.what](given, record, folders, about)
    Console(width=120).print(about)
    Console(width=120).print(table)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"finetune.py: {error}")
