"""Thresholds tuned for each label of a trained network: on one half of the images to test on, tested on the other.

They are written into a weight file, with what tells the images they were tuned on from others: `predict`, `evaluate`
and `export` use them, and a later test says how many of its images had a part in them.
"""

import hashlib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reslab.data.dataset import Split
from reslab.errors import UserError
from reslab.experiments.seen import TUNED, note_tuned
from reslab.experiments.subjects import Given, load_inputs, load_trained, read_fields, refuse_overwriting
from reslab.files import refuse_closed_place
from reslab.networks import save_model
from reslab.networks.finite import rows_not_finite, tell_not_finite
from reslab.runtime.listener import Listener
from reslab.spec import name_of
from reslab.tasks.catalogue import find_shown
from reslab.tasks.multilabel.thresholds import TunedLabel, describe_label, tune
from reslab.tasks.subject import Subject

FIELDS = ("data.on_bad_image",)  # and those of the preprocessing
LEAST_IMAGES = 10
BATCH = 32


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """Thresholds of a network's labels, and how it does with them on `tested` images, none of them of the `tuned`.

    `before` and `after` are its scores by name, at a half and at the thresholds.
    """

    subject: str
    network: str
    path: Path
    data: str
    tuned: int
    tested: int
    labels: tuple[TunedLabel, ...]
    before: dict[str, float]
    after: dict[str, float]
    task: str


def tune_thresholds(
    subject: Given,
    out: str | Path,
    *,
    data: str | Path | None = None,
    weights: str | Path | None = None,
    fields: Mapping[str, Any] | None = None,
    runs: str | Path | None = None,
    device: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    warn: Callable[[str], None] = warnings.warn,
) -> Tuned:
    """Write the weights of a network of several labels per image to `out`, with a threshold for each label.

    They are tuned on one half of the test images of `data`, drawn by the images' names, and tested on the other half,
    as `reslab evaluate --tune-thresholds` does. Arguments are those of `evaluate`.
    """
    given, path = read_fields("evaluate", fields, FIELDS, {"data": data, "weights": weights}), Path(out)
    if path.suffix != ".safetensors":
        raise UserError(f"--tune-thresholds is {path}; give a file that ends in .safetensors")
    refuse_closed_place(path)
    trained, listener = load_trained(subject, given, runs), Listener(warn=warn)
    network = trained.network
    if network.task.name != "multi-label":
        raise UserError(f"{trained.origin} predicts one class per image; give a multi-label network to tune thresholds")
    refuse_overwriting(path, subject, given, trained.run)
    network.thresholds = None
    (whole,) = load_inputs([trained], given, listener=listener, device=device)
    if len(whole) < LEAST_IMAGES:
        raise UserError(
            f"{whole.data} has {len(whole)} test images, but tuning needs {LEAST_IMAGES} or more; give other data"
        )
    tuned, tested = (replace(whole, images=whole.images.take(half)) for half in draw_halves(whole.images))
    done = 0

    def moved(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, len(whole))

    probabilities, truths = _look(tuned, moved)[1:]
    network.thresholds = tuple(map(tune, probabilities.T, truths.T))
    logits, probabilities, truths = _look(tested, moved)
    named = zip(whole.class_names, network.thresholds, probabilities.T, truths.T, strict=True)
    labels = tuple(describe_label(*one) for one in named)
    before, after = (_score(whole, thresholds, logits, truths) for thresholds in (None, network.thresholds))
    save_model(
        network, path, metrics=after, provenance={**trained.provenance, TUNED: note_tuned(tuned.data, tuned.images)}
    )
    return Tuned(
        subject=trained.origin,
        network=name_of(network.spec),
        path=path,
        data=whole.data,
        tuned=len(tuned),
        tested=len(logits),
        labels=labels,
        before=before,
        after=after,
        task=network.task.name,
    )


def draw_halves(images: Split) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which images are tuned on and which tested on: the same ones wherever they lie and in whatever order."""
    keys = [hashlib.sha256(str(identity).encode(errors="surrogateescape")).digest() for identity in images.identities()]
    order = np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)
    half = len(order) // 2
    return np.sort(order[:half]), np.sort(order[half:])


@torch.no_grad()
def _look(subject: Subject, moved: Callable[[int], None]) -> tuple[Tensor, NDArray[np.float64], NDArray[np.bool_]]:
    """Return the logits of all images, these as probabilities, and their labels; refuse any that are not finite."""
    outputs, targets = [], []
    for images, labels in subject.batches(BATCH):
        outputs.append(subject.network(images).float().cpu())
        targets.append(labels.cpu())
        moved(len(labels))
    logits = torch.cat(outputs)
    if bad := int(rows_not_finite(logits).sum()):
        raise tell_not_finite(subject.network, f"for {bad:,} of {len(logits):,} images of {subject.data}")
    return logits, logits.double().sigmoid().numpy(), torch.cat(targets).numpy() == 1


def _score(
    subject: Subject, thresholds: tuple[float, ...] | None, logits: Tensor, truths: NDArray[np.bool_]
) -> dict[str, float]:
    meter = subject.task.at(thresholds).make_meter(outputs=logits.shape[1], images=len(logits), device="cpu")
    meter.add(logits, torch.from_numpy(truths.astype(np.uint8)))
    logged, scores = meter.read().logged(), find_shown(subject.network).scores
    return {score.name: logged[score.name] for score in scores if score.shown == "lists"}
