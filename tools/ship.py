"""Choose, test and ship weights: `python -m tools.ship RUNS...`, folders of runs that still have theirs.

Of each network below, the seed nearest the mean test error of all its recorded seeds is tested in float32 on the CPU on
CIFAR-10 (RESLAB_DATA says where it is) and written into the package with what is known of it. Then a hundred test
images, with every shipped network's logits for them, are written for the tests. `make results` tells it afterwards.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from reslab.data.arrays.dataset import ArrayDataset
from reslab.data.arrays.split import ArraySplit
from reslab.data.catalogue import load_dataset
from reslab.data.preprocessing import preprocess_images
from reslab.errors import UserError
from reslab.experiments.evaluate import evaluate_subject
from reslab.experiments.trained import choose_inputs, load_run
from reslab.networks import Network, create_model, save_model
from reslab.paper.cifar import ask_error
from reslab.report.records import read_records
from reslab.report.verdicts import Verdict, judge
from reslab.runs.directory import RunDirectory, list_runs
from reslab.shipped import FOLDER, list_networks
from reslab.spec.codec import encode
from reslab.tasks.classification.scores import ERROR
from tools import REPOSITORY, RESULTS

SUBSET = REPOSITORY / "tests" / "shipped" / "cifar10-subset.npz"
NETWORKS = ("resnet-20", "resnet-32", "resnet-44", "resnet-56", "resnet-110", "plain-20", "plain-56")
IMAGES_OF_A_CLASS = 10


def main(folders: Sequence[Path]) -> int:
    """Ship what the records and the runs at hand allow; say what they do not, and return how much that is."""
    dataset = load_dataset("cifar10")
    (records, _), problems = read_records(RESULTS), 0
    for network in NETWORKS:
        (verdict,) = judge([ask_error(network, table="models", row=network)], records)
        if verdict.word != "measured":
            problems += 1
            print(f"{network}: {verdict.word}, so what is shipped of it stays as it is", file=sys.stderr)
            continue
        try:
            print(f"{network}: {ship(network, verdict, dataset, folders)}")
        except UserError as error:
            problems += 1
            print(f"{network}: {error}", file=sys.stderr)
    write_subset(dataset)
    return problems


def ship(network: str, verdict: Verdict, dataset: ArrayDataset, folders: Sequence[Path]) -> str:
    """Test the weights nearest the mean, write them into the package, and say what they are."""
    run = _with_weights(find_nearest(verdict), folders)
    trial, trained = run.trial(), load_run(run)
    scores = evaluate_subject(choose_inputs(trained, dataset, device="cpu"))
    sittings = run.read("provenance")["sittings"]
    path = save_model(
        trained.network,
        FOLDER / "cifar10" / f"{network}.safetensors",
        metrics={
            ERROR.name: scores[ERROR.name],
            "recorded_error_percent": run.result()[ERROR.name],
            **{
                f"{name}_error_percent": value
                for name in ("mean", "std")
                if (value := getattr(verdict, name)) is not None
            },
            "seeds": verdict.n,
        },
        provenance={
            "trial": trial.id,
            "data": encode(trial.data),
            "recipe": encode(trial.recipe),
            "seed": trial.seed,
            "device": sittings[-1]["device"],
            "commit": ", ".join(dict.fromkeys(sitting["commit"] for sitting in sittings)),
            "license": "Apache-2.0",
        },
    )
    return f"seed {trial.seed} of {verdict.n}, {scores[ERROR.name]:.2f} %, {path.stat().st_size / 2**20:.1f} MiB"


def find_nearest(verdict: Verdict) -> str:
    """Return the run whose error is nearest the mean of all; of two as near, the first by name."""
    assert verdict.mean is not None
    distances = [round(abs(value - verdict.mean), 6) for value in verdict.values]
    return min(zip(distances, verdict.runs, strict=True))[1]


def _with_weights(name: str, folders: Sequence[Path]) -> RunDirectory:
    for run in (run for folder in folders for run in list_runs(folder)):
        if run.path.name == name and run.weights.exists():
            return run
    raise UserError(f"{name} is nearest the mean and its weights are in none of the folders given; give one more")


def write_subset(dataset: ArrayDataset) -> None:
    """Write the first test images of each class, and what the shipped networks make of them."""
    classes = range(len(dataset.class_names))
    first = [np.flatnonzero(dataset.test.targets == label)[:IMAGES_OF_A_CLASS] for label in classes]
    subset = dataset.test.take(np.sort(np.concatenate(first)))
    networks = {name: create_model(name, weights="cifar10").eval() for name in list_networks("cifar10")}
    logits: dict[str, Any] = {name: compute_logits(network, subset) for name, network in networks.items()}
    SUBSET.parent.mkdir(exist_ok=True)
    np.savez_compressed(SUBSET, images=subset.images, labels=subset.targets, **logits)


@torch.no_grad()
def compute_logits(network: Network, images: ArraySplit) -> np.ndarray:
    """Return a network's logits for images prepared as it wants them."""
    assert network.preprocess is not None
    pixels = preprocess_images(
        torch.from_numpy(images.images), network.preprocess, brightest=255, mean_image=network.mean_image
    )
    return network(pixels).numpy()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    try:
        sys.exit(min(main([Path(folder) for folder in sys.argv[1:]]), 1))
    except UserError as error:
        sys.exit(str(error))
