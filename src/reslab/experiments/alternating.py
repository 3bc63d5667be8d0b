"""Faster R-CNN's alternating training: four trials, each of which starts from what those before it have learnt.

1. Proposals are trained, from a classifier. 2. Regions are, from the same classifier, on what step 1 proposes: there
are two trunks now. 3. Proposals, on the trunk of step 2, which stays as it is from here on. 4. Regions, on what step 3
proposes (Ren et al., 2015, section 3.2). Steps that are finished are not trained again.
"""

import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from reslab.data.dataset import Dataset
from reslab.errors import UserError
from reslab.experiments.trials import ALTERNATING, FORM, go_on_with_earlier, read_trial
from reslab.networks import Weights, read_weights, save_model
from reslab.networks.build import build_seeded
from reslab.networks.detection.detector import Detector
from reslab.networks.weights.detectors import start_from_classifier
from reslab.runs.directory import RunDirectory
from reslab.runs.origins import name_weights
from reslab.runtime.listener import Listener
from reslab.spec.codec import override
from reslab.spec.task import find_task, tasks_for
from reslab.spec.trial import Trial

WEIGHTS_NEEDED = "give weights=imagenet, or the file of a classifier"
STEPS: tuple[Mapping[str, str], ...] = (
    {"task.trains": "proposals"},
    {"task.trains": "regions", "task.trunks": "separate"},
    {"task.trains": "proposals", "task.trunks": "shared", "task.freeze": "shared"},
    {"task.trains": "regions", "task.trunks": "shared", "task.freeze": "shared"},
)
# Of recipes for both at once, those for proposals and for regions.
RECIPES = {"voc-paper": ("voc-proposals", "voc-regions"), "coco-paper": ("coco-proposals", "coco-regions")}

# Is told which step it is, trains a trial from weights, or only tells of it, and returns its run.
Train: TypeAlias = Callable[[str, Trial, Dataset, str | Path], RunDirectory]


def train_in_turns(
    fields: Mapping[str, Any],
    dataset: Dataset,
    root: Path,
    *,
    weights: str | Path | None,
    train: Train,
    listener: Listener,
) -> RunDirectory:
    """Train the four steps, each by `train`, and return the run of the last, or of the first that is not finished then.

    `weights` are those of the classifier that steps 1 and 2 start from; `fields` are those of every step.
    """
    task = find_task(fields.get("task") or tasks_for(dataset.target)[0])
    if task.needs != "boxes":
        raise UserError(f"{FORM} is for detectors, but the task is {task.name}; leave out {FORM}")
    if weights is None:
        raise UserError(f"{FORM}={ALTERNATING} starts two networks from trained weights; {WEIGHTS_NEEDED}")
    start, run = weights, None
    with tempfile.TemporaryDirectory(prefix="reslab-") as folder:
        for number, step in enumerate(STEPS):
            given = {**choose_fields(fields, number), **step}
            make = partial(_read_one, given, weights=start)
            (trial,), dataset = go_on_with_earlier(make, dataset, root, weights=start, listener=listener)
            if number == 0:
                _refuse_detector(read_weights(weights, like=trial.network), origin=weights)
            run = train(f"step {number + 1} of {len(STEPS)}: {step['task.trains']}", trial, dataset, start)
            if run.state != "finished":
                break
            start = join(weights, run, Path(folder)) if number == 0 else run.weights
    assert run is not None
    return run


def join(weights: str | Path, proposing: RunDirectory, folder: Path) -> Path:
    """Write what step 2 starts from: a detector on a classifier's network, beside the one that is to propose."""
    read, trial = read_weights(proposing.weights), proposing.trial()
    classifier = read_weights(weights, like=trial.network)
    task = override(read.task, {name.removeprefix("task."): value for name, value in STEPS[1].items()})
    detector = build_seeded(read.spec, task=task, seed=trial.seed)
    assert isinstance(detector, Detector) and detector.separate is not None
    detector.separate.load_state_dict({name: read.tensors[name] for name in detector.separate.state_dict()})
    start_from_classifier(detector, classifier, origin=str(weights))
    detector.task, detector.class_names, detector.class_words = task, read.class_names, read.class_words
    detector.preprocess, detector.mean_image = read.preprocess, read.mean_image
    seen = {name: value for name, value in read.provenance.items() if name != "trial"}
    name = f"{name_weights(weights, classifier.provenance)}+{proposing.path.name}.safetensors"
    return save_model(detector, folder / name, provenance=seen)


def _read_one(fields: Mapping[str, Any], dataset: Dataset, *, weights: str | Path) -> list[Trial]:
    return [read_trial(fields, dataset, weights=weights)]


def choose_fields(fields: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return the fields of a step, by the recipe for what it trains; the first decides on the network of all."""
    chosen = {name: value for name, value in fields.items() if number == 0 or name.partition(".")[0] != "network"}
    if isinstance(recipe := fields.get("recipe"), str):
        chosen["recipe"] = RECIPES.get(recipe, (recipe, recipe))[number % 2]
    return chosen


def _refuse_detector(weights: Weights, *, origin: str | Path) -> None:
    if weights.task.needs == "boxes":
        raise UserError(f"{FORM}={ALTERNATING} starts from a classifier, but {origin} is a detector; {WEIGHTS_NEEDED}")
