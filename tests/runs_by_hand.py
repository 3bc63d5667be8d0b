"""Run directories written by hand: plausible ones, without training."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reslab.report.groups import Group, group_runs
from reslab.report.records import read_records
from reslab.runs.directory import RunDirectory
from reslab.runs.log import StepLog
from reslab.scores import Score, describe_scores
from reslab.spec import find
from reslab.spec.parameters import count_parameters
from reslab.spec.recipe import find_recipe
from reslab.spec.trial import DataSpec, Trial, trial_from_dict, trial_to_dict

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
EVALUATIONS = 16
SITTING = {
    "command": "reslab train network=resnet-20",
    "started": "2026-11-15T13:25:00+00:00",
    "commit": "0123456789abcdef0123456789abcdef01234567",
    "versions": {"reslab": "0.1.0", "torch": "2.14.1"},
    "machine": {"system": "Linux", "processor": "AMD EPYC", "cores": 2},
    "device": "cpu",
}
EXAMPLE: dict[str, Any] = {  # a grey pixel
    "name": "val/bees/1.jpg",
    "truth": "bees",
    "guess": "ants",
    "probability": 0.97,
    "picture": {
        "width": 1,
        "height": 1,
        "jpeg": (
            "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8UHRofHh0aHBwgJC4nICIsIxwcKDcpLDAxNDQ0Hyc5PTgyPC4zNDL/"
            "wAALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAACf/EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AVN//2Q=="
        ),
    },
}


def write_run(
    root: Path,
    network: str = "resnet-20",
    *,
    data: str = "cifar10",
    split: Any = "full",
    seed: int = 0,
    error_percent: float = 8.0,
    finished: bool = True,
    sittings: int = 1,
    classes: Sequence[str] = CLASSES,
    responses: bool = True,
    name: str | None = None,
    task: str = "classification",
    fingerprint: str = "0" * 64,
    network_fields: Mapping[str, str] | None = None,
    recipe_name: str = "cifar-paper",
    **recipe: object,
) -> RunDirectory:
    """Write a run of `network` that ends near `error_percent`; one that is not finished stops before a quarter."""
    trial = Trial(
        data=DataSpec(name=data, fingerprint=fingerprint, split=split),
        network=find(network, {"classes": len(classes), **(network_fields or {})}),
        recipe=find_recipe(recipe_name, recipe),
        seed=seed,
    )
    trial = as_task(trial, task)
    run, noise = RunDirectory(root / (name or trial.id)), random.Random(trial.id)
    error_percent += noise.uniform(-0.3, 0.3)
    for _ in range(sittings):
        run.begin(trial, SITTING)
    last: dict[str, float] = {}
    confusion: list[list[int]] = []
    for index in range(1, EVALUATIONS + 1 if finished else EVALUATIONS // 4):
        part = index / EVALUATIONS
        wobble = noise.uniform(0.9, 1.1) * (60 * math.exp(-6 * part) + (6 if part < 0.5 else 0))
        confusion = confuse(error_percent + wobble, len(classes))
        last = {
            "step": index * trial.recipe.iterations // EVALUATIONS,
            "learning_rate": 0.1 if part <= 0.5 else 0.01 if part <= 0.75 else 0.001,
            "train_loss": 0.02 * (error_percent + wobble),
            "train_error_percent": 0.4 * error_percent + wobble,
            "test_loss": 0.03 * (error_percent + wobble),
            "test_error_percent": count_error(confusion),
        }
        StepLog(run.path / "metrics.jsonl").append(last)
        within = (index - 1) % math.ceil(EVALUATIONS / sittings) + 1
        StepLog(run.path / "timings.jsonl").append(
            {"step": last["step"], "seconds": 10.0 * within, "images_per_second": 900.0, "peak_memory_bytes": 2**29}
        )
    if responses:
        run.write("analysis/responses", write_responses(trial.network.depth - 1, noise))
    if finished:
        costs = {"params": count_parameters(trial.network), "multiply_adds": 40_551_040, "activation_bytes": 1_500_000}
        run.finish(last | _scores(confusion, classes) | {"loss": last["test_loss"]} | costs)
    return run


def as_task(trial: Trial, task: str) -> Trial:
    """Return the trial with another task, by the name that it has in files."""
    return trial_from_dict(trial_to_dict(trial) | {"task": task})


def write_responses(layers: int, noise: random.Random) -> dict[str, Any]:
    """Return responses as analysis records them."""
    deviations = [noise.uniform(0.6, 2.5) for _ in range(layers)]
    return {
        "data": "cifar10",
        "images": 10_000,
        "confidence": 0.95,
        "resamples": 1000,
        "layers": [
            {"name": f"conv{index}", "std": std, "low": std - 0.05, "high": std + 0.05}
            for index, std in enumerate(deviations, 1)
        ],
    }


def confuse(error_percent: float, classes: int) -> list[list[int]]:
    """Return the guesses about a hundred images of each class, later ones being harder."""
    confusion = [[0] * classes for _ in range(classes)]
    for truth in range(classes):
        wrong = min(100, round(error_percent * (0.5 + (truth + 0.5) / classes)))
        confusion[truth][truth] = 100 - wrong
        confusion[truth][(truth + 3) % classes] += wrong
    return confusion


def count_error(confusion: Sequence[Sequence[int]]) -> float:
    """Return the error that a confusion counts, in percent."""
    images = sum(map(sum, confusion))
    return 100 * (images - sum(row[truth] for truth, row in enumerate(confusion))) / images


def write_turning_run(root: Path, network: str = "resnet-20", *, seed: int = 0, right: float = 80.0) -> RunDirectory:
    """Write a finished run whose result describes scores of its own: the headline is a rate, and higher is better."""
    run = write_run(root, network, data="pictures", seed=seed, finished=False, responses=False)
    (run.path / "metrics.jsonl").unlink()
    scores = [
        Score(name="right_percent", words="rate", better="higher", logged=("train", "test"), shown="lists"),
        Score(name="angle_degrees", words="angle", unit="°", logged=("test",)),
    ]
    tested = {"test_right_percent": right, "test_angle_degrees": 90.0 - right}
    last = {"step": run.trial().recipe.iterations, "train_right_percent": right + 5, "train_loss": right, **tested}
    StepLog(run.path / "metrics.jsonl").append(last)
    own = {"right_percent": right, "angle_degrees": 90.0 - right, "scores": describe_scores(scores)}
    run.finish(last | own)
    return run


def finish_run(run: RunDirectory, **result: Any) -> None:
    """Finish a run whose log is one line, which says of its errors what the result says."""
    trial = run.trial()
    errors = {name: value for name, value in result.items() if name in ("train_error_percent", "test_error_percent")}
    last = {"step": trial.recipe.iterations, "train_loss": random.Random(trial.id).random(), **errors}
    StepLog(run.path / "metrics.jsonl").append(last)
    run.finish(last | result)


def _scores(confusion: list[list[int]], classes: Sequence[str]) -> dict[str, Any]:
    return {
        "error_percent": count_error(confusion),
        "top5_error_percent": 0.3,
        "confusion": confusion,
        "class_error_percent": [100.0 - row[truth] for truth, row in enumerate(confusion)],
        "class_names": list(classes),
    }


def groups_in(root: Path) -> list[Group]:
    """Read the runs under a root as the report does."""
    return group_runs(read_records(root)[0])


def labelled_groups(root: Path) -> dict[str, Group]:
    """Return the groups of runs that `root` holds, by their labels."""
    return {group.label: group for group in groups_in(root)}
