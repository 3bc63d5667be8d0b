"""Trained networks tried on labelled images, alone and as an ensemble: their scores."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch

from reslab.data.dataset import Dataset
from reslab.data.reading import measure_largest
from reslab.errors import UserError, choices
from reslab.experiments.subjects import Given, load_inputs, load_trained, read_fields
from reslab.experiments.trained import choose_inputs, load_run
from reslab.networks.finite import tell_not_finite
from reslab.networks.inference import Served
from reslab.paper.measurements import LATENCY
from reslab.runs.directory import RunDirectory
from reslab.runtime.listener import DEAF, Listener
from reslab.spec import name_of
from reslab.spec.codec import convert
from reslab.tasks.bench import Bench
from reslab.tasks.catalogue import find_shown
from reslab.tasks.latency import measure_latency
from reslab.tasks.subject import Subject
from reslab.tasks.task import Meter, Scores, Task, find_task

MOST_AT_ONCE = {"cpu": 500, "cuda": 1024}  # images: on CUDA so many that those of like shape are several
MOST_BYTES = 1 << 30  # of them on a CUDA device: a thousand of ImageNet's, thirty of a telephone's
LEAST_ABOVE_CHANCE = 0.02  # of the way to the truth: weights scored against labels in another order come no further
ENOUGH_IMAGES = 20  # fewer may all be wrong by bad luck


FIELDS = ("data.split", "data.on_bad_image", "protocol", "precision")  # and those of the preprocessing


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """How a network, or several together, did on `images` images of `data`.

    `scores` are by name, `classes` by class and then by name; `members` are the networks of an ensemble. `record` is
    all of it as plain data, as `reslab evaluate --json` prints it.
    """

    subject: str
    task: str
    data: str
    images: int
    scores: dict[str, float]
    classes: dict[str, dict[str, Any]]
    record: dict[str, Any]
    members: tuple["Evaluation", ...] = ()


def evaluate(
    *subjects: Given,
    data: str | Path | None = None,
    weights: str | Path | None = None,
    fields: Mapping[str, Any] | None = None,
    runs: str | Path | None = None,
    device: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    warn: Callable[[str], None] = warnings.warn,
) -> Evaluation:
    """Test trained networks on labelled images, as `reslab evaluate` does; several are tested together as an ensemble.

    A subject is a run, its folder or the start of its id, a weight file, or a network's name with `weights`.
    `data` is a dataset or a folder, by default what the networks were trained on; `fields` are those of the command
    line, such as {"protocol": "10-crop", "preprocess.resize": 256}. `progress` is given how many images are done, and
    of how many.
    """
    given = read_fields("evaluate", fields, FIELDS, {"data": data, "weights": weights})
    if not subjects:
        raise UserError("evaluate needs a run or a weight file; `reslab runs` lists the runs")
    precision = convert(Served, given.get("precision", "fp32"), where="precision")
    listener = Listener(warn=cache(warn))  # each warning about several members is given once
    trained = [load_trained(one, given, runs) for one in subjects]
    protocol = choose_protocol(find_task(trained[0].network.task), given.get("protocol"))
    members = load_inputs(trained, given, listener=listener, device=device)
    if progress is not None:
        listener = listener.moved_by(lambda done, _: progress(done, len(members[0])))
    found = evaluate_ensemble(members, protocol=protocol, precision=precision, listener=listener)
    alone = tuple(_describe_evaluation(one, members[0]) for one in found["members"])
    return alone[0] if len(alone) == 1 else _describe_evaluation(found, members[0], alone)


def evaluate_subject(
    subject: Subject, *, protocol: str | None = None, precision: Served = "fp32", listener: Listener = DEAF
) -> dict[str, Any]:
    """Score a network on every image of a subject; return the scores as plain data."""
    return evaluate_ensemble([subject], protocol=protocol, precision=precision, listener=listener)["members"][0]


def score_run(
    run: RunDirectory, dataset: Dataset, protocol: str, *, device: str = "cpu", listener: Listener = DEAF
) -> dict[str, Any]:
    """Return the scores of a run by a protocol on all it is tested on, kept in its `analysis/`, measured once."""
    subject = _load_own(run, dataset, device=device)
    kept = run.kept(protocol)
    if subject.covered_by(kept):
        return kept
    kept = _without_large(evaluate_subject(subject, protocol=protocol, listener=listener), subject)
    run.keep(protocol, kept)
    return kept


def time_run(run: RunDirectory, dataset: Dataset, *, device: str = "cpu", listener: Listener = DEAF) -> dict[str, Any]:
    """Return how long a run's network takes for one image, kept in its `analysis/`, measured once, on any device."""
    if not (kept := run.kept(LATENCY)):
        kept = measure_latency(_load_own(run, dataset, device=device), listener=listener)
        run.keep(LATENCY, kept)
    return kept


def _load_own(run: RunDirectory, dataset: Dataset, *, device: str) -> Subject:
    """Return the network of a run with the images it is tested on."""
    subject = choose_inputs(load_run(run), dataset, device=device)
    if not subject.own:
        raise UserError(f"{run.path} was not trained on {dataset.name}; give the data it was trained on")
    return subject


def score_ensemble(
    runs: Mapping[RunDirectory, str],
    dataset: Dataset,
    protocol: str,
    *,
    device: str = "cpu",
    listener: Listener = DEAF,
) -> dict[str, Any]:
    """Return the scores of runs together, given each with its network's name, kept in the first's `analysis/`."""
    first = next(iter(runs))
    members = [choose_inputs(load_run(run), dataset, device=device) for run in runs]
    about = {"networks": list(runs.values()), "runs": [run.path.name for run in runs], "protocol": protocol}
    kept = first.kept("ensemble")
    if members[0].covered_by(kept) and about.items() <= kept.items():
        return kept
    found = evaluate_ensemble(members, protocol=protocol, listener=listener)
    kept = _without_large({name: found[name] for name in found if name != "members"}, members[0]) | about
    first.keep("ensemble", kept)
    return kept


@torch.no_grad()
def evaluate_ensemble(
    members: Sequence[Subject],
    *,
    protocol: str | None = None,
    precision: Served = "fp32",
    listener: Listener = DEAF,
) -> dict[str, Any]:
    """Score networks on the same images, each with its own preprocessing, and the average of their probabilities.

    Each image is read once, for all networks. The listener is warned of networks that are no better than chance.
    """
    first = members[0]
    for other in members[1:]:
        if other.split != first.split:
            raise UserError(
                f"{first.origin} is tested on data.split={first.split} and {other.origin} on "
                f"data.split={other.split}; add data.split=full or data.split=tuning to test all on the same images"
            )
    protocol = choose_protocol(first.task, protocol)
    bench = first.task.make_bench(members, protocol=protocol, precision=precision)
    meters = [*[_make_meter(one, one.task) for one in members], _make_meter(first, first.task.at(None))]
    done = 0
    for images, targets in first.stored(_choose_size(first, bench)):
        for question in range(first.task.questions):
            outputs, together = bench.judge(images, question)
            for meter, guessed in zip(meters, [*outputs, together], strict=True):
                meter.add(guessed, first.task.answers(targets, question))
        done += len(targets)
        listener.progress(done, {})
    about = {
        "data": first.data,
        "split": first.split,
        "images": done,
        "skipped_images": len(first) - done,
        "protocol": protocol,
        **({} if precision == "fp32" else {"precision": precision}),
    }
    read = [meter.read() for meter in meters]
    for subject, scores in zip(members, read, strict=False):
        if scores.not_finite:
            raise tell_not_finite(subject.network, f"for {scores.not_finite:,} of {done:,} images of {subject.data}")
        if done >= ENOUGH_IMAGES and scores.above_chance < LEAST_ABOVE_CHANCE:
            listener.warn(_describe_chance(subject))
    *alone, together = [_describe_scores(scores, first) for scores in read]
    return {
        "subject": " + ".join(subject.origin for subject in members),
        **about,
        **together,
        "members": [
            {
                "subject": subject.origin,
                "network": name_of(subject.network.spec),
                **about,
                **shown,
                **scores,
            }
            for subject, shown, scores in zip(members, bench.describe(), alone, strict=True)
        ],
    }


def choose_protocol(task: Task, protocol: str | None) -> str:
    """Return the protocol asked for, or the task's usual one; refuse those of other tasks."""
    chosen = protocol or task.protocols[0]
    if chosen not in task.protocols:
        raise UserError(f"protocol is {chosen!r}; choose {choices(task.protocols)}")
    return chosen


def _choose_size(subject: Subject, bench: Bench) -> int:
    """Return how many images are read at once."""
    if subject.device.startswith("cuda"):
        return max(1, min(MOST_AT_ONCE["cuda"], MOST_BYTES // measure_largest(subject.images)))
    return min(MOST_AT_ONCE["cpu"], bench.most_images)


def _make_meter(subject: Subject, task: Task) -> Meter:
    images = task.questions * len(subject)
    return task.make_meter(outputs=len(subject.class_names), images=images, device=subject.device)


def _without_large(found: dict[str, Any], subject: Subject) -> dict[str, Any]:
    large = subject.task.large
    return {name: value for name, value in found.items() if name not in large}


def _describe_chance(subject: Subject) -> str:
    """Say what may be wrong where a network is no better than chance."""
    sentence = f"{subject.origin} is no better than chance on {subject.data}; check its preprocessing"
    if subject.network.class_names is None:
        first = ", ".join(subject.class_names[:3])
        sentence += f", and that its classes are in this order: {first}, …"
    return sentence


def _describe_scores(scores: Scores, subject: Subject) -> dict[str, Any]:
    recorded = scores.recorded()
    named = {name: dict(zip(subject.class_names, recorded[name], strict=True)) for name in subject.task.by_class}
    return recorded | named


def _describe_evaluation(found: dict[str, Any], subject: Subject, members: tuple[Evaluation, ...] = ()) -> Evaluation:
    scores, by_class = find_shown(subject.network).scores, subject.task.by_class
    return Evaluation(
        subject=found["subject"],
        task=subject.network.task.name,
        data=found["data"],
        images=found["images"],
        scores={score.name: found[score.name] for score in scores if found.get(score.name) is not None},
        classes={one: {name: found[name][one] for name in by_class} for one in subject.class_names},
        record=found,
        members=members,
    )
