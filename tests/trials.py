"""Small trials for tests, on the digits and on photographs; when to stop them, and what they end with."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from reslab.data.arrays.digits import load_digits
from reslab.experiments.trials import read_trial
from reslab.runs.directory import RunDirectory
from reslab.spec import find
from reslab.spec.recipe import find_recipe
from reslab.spec.trial import DataSpec, SplitName, Trial

DIGITS = load_digits()
PHOTO_FIELDS = {
    "network": "cifar-resnet-8", "network.input_size": "24", "recipe.batch": "8", "recipe.iterations": "8",
    "recipe.evaluate_every": "4", "recipe.precision": "fp32",
}  # fmt: skip


def make_digits_trial(name: str = "cifar-resnet-8", *, split: SplitName = "full", **recipe: object) -> Trial:
    """A trial on the digits, by the fields of its recipe."""
    return Trial(
        data=DataSpec(name="digits", fingerprint=DIGITS.fingerprint, split=split),
        network=find(name, {"channels": 1, "input_size": 8}),
        recipe=find_recipe("digits", recipe),
    )


def make_photo_trial(dataset: Any, *, weights: str | None = None, **changes: str) -> Trial:
    """A short trial on photographs, with changes to its fields whose dots are written `__`."""
    fields = PHOTO_FIELDS | {name.replace("__", "."): value for name, value in changes.items()}
    return read_trial(fields, dataset, weights=weights)


def stop_after(count: int) -> Callable[[], bool]:
    """Return what says so when it is asked once more than `count` times."""
    answers = iter([False] * count + [True])
    return lambda: next(answers)


def outcome(run: RunDirectory) -> tuple[str, str, str]:
    """Digests of what must not depend on how the run came about: weights, metric log, result."""
    files = ("weights.safetensors", "metrics.jsonl", "result.json")
    digests = [hashlib.sha256((run.path / name).read_bytes()).hexdigest() for name in files]
    return digests[0], digests[1], digests[2]
