"""A trained network tried on labelled images: its errors, overall and a class, and what it takes for what."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torch import Tensor

from reslab.evaluation.classification import score
from reslab.experiments.classification import EVALUATION_BATCH
from reslab.experiments.trained import Inputs, Trained
from reslab.spec import name_of


def evaluate(
    trained: Trained, inputs: Inputs, *, progress: Callable[[int], None] = lambda done: None
) -> dict[str, Any]:
    """Score a network on every image of `inputs`, in float32 as it is; return the scores as plain data."""

    def batches() -> Iterator[tuple[Tensor, Tensor]]:
        done = 0
        for images, labels in inputs.batches(EVALUATION_BATCH):
            yield images, labels
            done += len(labels)
            progress(done)

    scores = score(trained.network, batches(), classes=len(inputs.class_names))
    return {
        "subject": trained.origin,
        "network": name_of(trained.network.spec),
        "data": inputs.data,
        "split": inputs.split,
        "images": len(inputs),
        "preprocess": inputs.preprocess.describe(),
        "error_percent": scores.error_percent,
        "top5_error_percent": scores.top5_error_percent,
        "loss": scores.loss,
        "class_error_percent": dict(zip(inputs.class_names, scores.class_error_percent, strict=True)),
        "confusion": scores.confusion,
    }
