"""Trained networks tried on labelled images, alone and as an ensemble: their errors, confusion and calibration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from reslab.data.dataset import Dataset
from reslab.data.photos.folder import PhotoDataset
from reslab.errors import UserError
from reslab.evaluation.classification import Counts, Scores
from reslab.evaluation.crops import ProtocolName, Viewing
from reslab.evaluation.multilabel import LabelCounts, LabelScores
from reslab.evaluation.protocols import Judge
from reslab.experiments.arrays import EVALUATION_BATCH
from reslab.experiments.trained import Inputs, Trained, choose_inputs, load_run
from reslab.networks.finite import tell_not_finite
from reslab.runs.directory import RunDirectory
from reslab.spec import name_of

# What a network is shown at once: sixty-four crops of 224.
MOST_PIXELS = 64 * 224**2
LEAST_ABOVE_CHANCE = 0.02  # of the way to the truth: weights scored against labels in another order come no further
ENOUGH_IMAGES = 20  # fewer may all be wrong by bad luck
LARGE = ("confusion", *Scores.BY_CLASS, *LabelScores.BY_CLASS)  # with a thousand classes, a million numbers


def evaluate(
    trained: Trained,
    inputs: Inputs,
    *,
    protocol: ProtocolName = "1-crop",
    progress: Callable[[int], None] = lambda done: None,
    warn: Callable[[str], None] = lambda sentence: None,
) -> dict[str, Any]:
    """Score a network on every image of `inputs`, in float32 as it is; return the scores as plain data."""
    return evaluate_ensemble([(trained, inputs)], protocol=protocol, progress=progress, warn=warn)["members"][0]


def score_run(
    run: RunDirectory,
    dataset: Dataset | PhotoDataset,
    protocol: ProtocolName,
    *,
    device: str = "cpu",
    progress: Callable[[int], None] = lambda done: None,
) -> dict[str, Any]:
    """Return the errors of a run by a protocol on all it is tested on, kept in its `analysis/`, measured once."""
    trained = load_run(run)
    inputs = choose_inputs(trained, dataset, device=device)
    if not inputs.own:
        raise UserError(f"{run.path} was not trained on {dataset.name}; give the data it was trained on")
    kept = run.kept(protocol)
    if inputs.covered_by(kept):
        return kept
    found = evaluate(trained, inputs, protocol=protocol, progress=progress)
    kept = {name: value for name, value in found.items() if name not in LARGE}
    run.keep(protocol, kept)
    return kept


def score_ensemble(
    runs: Mapping[RunDirectory, str],
    dataset: Dataset | PhotoDataset,
    protocol: ProtocolName,
    *,
    device: str = "cpu",
    progress: Callable[[int], None] = lambda done: None,
) -> dict[str, Any]:
    """Return the errors of runs together, given each with its network's name, kept in the first's `analysis/`."""
    first, members = next(iter(runs)), []
    for run in runs:
        trained = load_run(run)
        members.append((trained, choose_inputs(trained, dataset, device=device)))
    about = {"networks": list(runs.values()), "runs": [run.path.name for run in runs], "protocol": protocol}
    kept = first.kept("ensemble")
    if members[0][1].covered_by(kept) and about.items() <= kept.items():
        return kept
    found = evaluate_ensemble(members, protocol=protocol, progress=progress)
    kept = {name: value for name, value in found.items() if name not in (*LARGE, "members")} | about
    first.keep("ensemble", kept)
    return kept


@torch.no_grad()
def evaluate_ensemble(
    members: Sequence[tuple[Trained, Inputs]],
    *,
    protocol: ProtocolName = "1-crop",
    progress: Callable[[int], None] = lambda done: None,
    warn: Callable[[str], None] = lambda sentence: None,
) -> dict[str, Any]:
    """Score networks on the same images, each with its own preprocessing, and the average of their probabilities.

    An image is read once, and shown to all of them; `warn` is told of networks that are no better than chance.
    """
    inputs = members[0][1]
    for trained, other in members[1:]:
        if other.split != inputs.split:
            raise UserError(
                f"{members[0][0].origin} is tested on data.split={inputs.split} and {trained.origin} on "
                f"data.split={other.split}; say which for all"
            )
    judges = [Judge(trained.network, own.viewing(protocol), own.execution) for trained, own in members]
    size = min(EVALUATION_BATCH, max(1, MOST_PIXELS // max(judge.viewing.pixels for judge in judges)))
    counts = [_make_counts(members[0][0], inputs) for _ in range(len(members) + 1)]
    done = 0
    for images, labels in inputs.stored(size):
        logits = [judge.judge(images) for judge in judges]
        for count, guessed in zip(counts, [*logits, judges[0].average(torch.stack(logits, 1))], strict=True):
            count.add(guessed, labels)
        done += len(labels)
        progress(done)
    about = {
        "data": inputs.data,
        "split": inputs.split,
        "images": done,
        "skipped_images": len(inputs) - done,
        "protocol": protocol,
    }
    read = [count.read() for count in counts]
    for (trained, _), scores in zip(members, read, strict=False):
        if scores.not_finite:
            raise tell_not_finite(trained.network, f"for {scores.not_finite:,} of {done:,} images of {inputs.data}")
        if done >= ENOUGH_IMAGES and scores.above_chance < LEAST_ABOVE_CHANCE:
            warn(_describe_chance(trained, inputs))
    *alone, together = [_describe_scores(scores, inputs.class_names) for scores in read]
    return {
        "subject": " + ".join(trained.origin for trained, _ in members),
        **about,
        **together,
        "members": [
            {
                "subject": trained.origin,
                "network": name_of(trained.network.spec),
                **about,
                **_describe_viewing(judge.viewing),
                **scores,
            }
            for (trained, _), judge, scores in zip(members, judges, alone, strict=True)
        ],
    }


def _make_counts(trained: Trained, inputs: Inputs) -> Counts | LabelCounts:
    classes = len(inputs.class_names)
    if trained.network.task == "multi-label":
        return LabelCounts(images=len(inputs), classes=classes, device=inputs.device)
    return Counts(classes=classes, device=inputs.device)


def _describe_chance(trained: Trained, inputs: Inputs) -> str:
    """Say what may be wrong where a network is no better than chance."""
    sentence = f"{trained.origin} is no better than chance on {inputs.data}; check how its images are prepared"
    if trained.network.class_names is None:
        first = ", ".join(inputs.class_names[:3])
        sentence += f", and that it has the classes in this order: {first}, …"
    return sentence


def _describe_viewing(viewing: Viewing) -> dict[str, Any]:
    """Say how images were prepared; several sizes are beside the preprocessing, which has but one."""
    done, sides = viewing.preprocess, viewing.shorter_sides
    if viewing.protocol == "10-crop":
        done = replace(done, resize=sides[0], crop=viewing.side)
    elif viewing.protocol == "multi-scale":
        done = replace(done, resize=None, crop=None)
    return {"preprocess": done.describe(), "shorter_sides": list(sides)}


def _describe_scores(scores: Scores | LabelScores, class_names: Sequence[str]) -> dict[str, Any]:
    recorded = scores.recorded()
    named = {name: dict(zip(class_names, recorded[name], strict=True)) for name in scores.BY_CLASS}
    return recorded | named
