"""Alternating training: four trials in a chain, each with its own weights to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tests.objects import make_scenes, write_coco

import reslab
from reslab import UserError
from reslab.experiments.trials import FORM, take_form
from reslab.networks import create_model, read_weights, save_model
from reslab.runs.directory import RunDirectory, list_runs
from reslab.spec.detection import Detection

SIZES = ((96, 72), (72, 96))
THIN: dict[str, Any] = {"stem.width": 8} | {
    f"stages.{stage}.{name}": value
    for stage, width in enumerate((8, 8, 16, 16))
    for name, value in (("width", width), ("blocks", 1))
}
TASK = {
    "shorter": 64,
    "longest": 96,
    "anchor_sides": [16, 32],
    "rpn_width": 16,
    "proposals_train": 40,
    "proposals_test": 20,
    "proposal_side": 4,
    "regions": 16,
    "detections": 10,
    "detection_score": 0,
    "crossing_anchors": True,
    "norm": "trained",
}
RECIPE = {"iterations": 2, "evaluate_every": 2, "batch": 2, "precision": "fp32"}
FIELDS: dict[str, Any] = {
    FORM: "alternating",
    **{f"task.{name}": value for name, value in TASK.items()},
    **{f"recipe.{name}": value for name, value in RECIPE.items()},
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny dataset, a classifier, and the runs of the four steps."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    root = tmp_path_factory.mktemp("alternating")
    scenes = [make_scenes(name, count, seed=seed, sizes=SIZES) for name, count, seed in (("a", 4, 1), ("b", 2, 2))]
    write_coco(root / "coco", train=scenes[0], val=scenes[1])
    save_model(create_model("resnet-18", **THIN), root / "classifier.safetensors")
    last = train(root, root / "runs")
    (root / "last").write_text(last.path.name)
    return root


def train(root: Path, runs: Path, **options: Any) -> RunDirectory:
    given: dict[str, Any] = {"weights": root / "classifier.safetensors", "fields": FIELDS, "progress": False} | options
    return reslab.train(root / "coco", runs=runs, **given)


def read_steps(root: Path) -> list[RunDirectory]:
    """Return the runs of the four steps in order, found by what each starts from."""
    runs = {run.trial().start: run for run in list_runs(root / "runs")}
    digests = {run.path.name: digest(run.weights) for run in runs.values()}
    last = RunDirectory(root / "runs" / (root / "last").read_text())
    third = next(run for run in runs.values() if digests[run.path.name] == last.trial().start)
    second = next(run for run in runs.values() if digests[run.path.name] == third.trial().start)
    (first,) = [run for run in runs.values() if run.path.name not in {each.path.name for each in (last, third, second)}]
    return [first, second, third, last]


def digest(path: Path) -> str:
    from reslab.runtime.sealed import seal

    return seal({}, read_weights(path).tensors)


def tensors_of(path: Path, *prefixes: str) -> dict[str, torch.Tensor]:
    return {name: tensor for name, tensor in read_weights(path).tensors.items() if name.startswith(prefixes)}


def is_same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    assert one and one.keys() == other.keys()
    return all(torch.equal(one[name], other[name]) for name in one)


def test_each_step_is_a_trial_of_its_own(place: Path) -> None:
    """They differ in what they train and in what they start from; the first two start from the classifier's network."""
    steps = read_steps(place)
    tasks = [step.trial().task for step in steps]
    assert len({step.path.name for step in steps}) == 4 and all(step.state == "finished" for step in steps)
    assert all(isinstance(task, Detection) for task in tasks)
    assert [(task.trains, task.trunks, task.freeze) for task in tasks if isinstance(task, Detection)] == [
        ("proposals", "shared", "conv2"),
        ("regions", "separate", "conv2"),
        ("proposals", "shared", "shared"),
        ("regions", "shared", "shared"),
    ]
    assert steps[0].trial().start == digest(place / "classifier.safetensors")
    names = [step.read("provenance")["sittings"][0]["weights"] for step in steps]
    ids = [step.path.name for step in steps]
    expected = ["classifier.safetensors", f"classifier.safetensors+{ids[0]}.safetensors", ids[1], ids[2]]
    assert names == expected
    assert all(step.trial().preprocess == steps[1].trial().preprocess for step in steps[1:])


def test_nothing_that_a_step_does_not_train_moves_a_bit(place: Path) -> None:
    """Weights, statistics and what decays; what it trains does move."""
    first, second, third, last = (step.weights for step in read_steps(place))
    classifier = place / "classifier.safetensors"
    frozen, shared = ("body.stem.", "body.blocks.conv2"), ("body.stem.", *(f"body.blocks.conv{n}" for n in (2, 3, 4)))
    of_classifier = {f"body.{name}": tensor for name, tensor in read_weights(classifier).tensors.items()}
    for step in (first, second):
        own = tensors_of(step, *frozen)
        assert is_same(own, {name: of_classifier[name] for name in own})
        assert not is_same(tensors_of(step, "body.blocks.conv4_1"), {
            name: of_classifier[name] for name in tensors_of(step, "body.blocks.conv4_1")
        })  # fmt: skip
    last_stage = tensors_of(first, "body.blocks.conv5")
    assert is_same(last_stage, {name: of_classifier[name] for name in last_stage})
    proposing = {name.removeprefix("separate."): tensor for name, tensor in tensors_of(second, "separate.").items()}
    assert is_same(proposing, tensors_of(first, *shared, "proposer."))
    for before, after in ((second, third), (third, last)):
        assert is_same(tensors_of(before, *shared), tensors_of(after, *shared))
    assert is_same(
        tensors_of(second, "outputs.", "body.blocks.conv5"), tensors_of(third, "outputs.", "body.blocks.conv5")
    )
    assert not is_same(tensors_of(second, "proposer."), tensors_of(third, "proposer."))
    assert is_same(tensors_of(third, "proposer."), tensors_of(last, "proposer."))
    for part in ("outputs.", "body.blocks.conv5"):
        assert not is_same(tensors_of(third, part), tensors_of(last, part))
    assert not tensors_of(last, "separate.")


def test_losses_of_what_is_not_trained_are_zero(place: Path) -> None:
    """In the log of each step."""
    for step, trained in zip(read_steps(place), ("rpn", "roi", "rpn", "roi"), strict=True):
        last = step.log()[-1]
        for name in ("rpn_class", "rpn_box", "roi_class", "roi_box"):
            assert (last[f"train_{name}_loss"] == 0) == (not name.startswith(trained)), name


def test_finished_steps_are_not_trained_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same call returns the run of the last."""
    monkeypatch.setattr("reslab.experiments.run.fit", None)
    assert train(place, place / "runs").path.name == (place / "last").read_text()


@pytest.mark.parametrize(
    ("fields", "weights", "sentence"),
    [
        ({}, None, r"task\.form=alternating starts two networks from trained weights; give weights=imagenet"),
        ({}, "last", r"starts from a classifier, but .* is a detector; give weights=imagenet"),
        ({FORM: "turns"}, "classifier", r"task\.form is 'turns'; choose joint or alternating"),
        ({"task.trains": "regions"}, "classifier", r"sets task\.trains in each of its steps; leave out task\.trains"),
    ],
)
def test_what_cannot_be_is_refused(fields: dict[str, Any], weights: str | None, sentence: str, place: Path) -> None:
    """Before anything is trained."""
    files = {"last": read_steps(place)[-1].weights, "classifier": place / "classifier.safetensors", None: None}
    with pytest.raises(UserError, match=sentence):
        train(place, place / "others", weights=files[weights], fields=FIELDS | fields)
    assert not list_runs(place / "others")


def test_what_has_no_boxes_has_no_such_form(tmp_path: Path) -> None:
    """Digits are classified."""
    network = create_model("cifar-resnet-8", num_classes=10, in_chans=1, input_size=8)
    weights = save_model(network, tmp_path / "digits.safetensors")
    with pytest.raises(UserError, match=r"task\.form is for detectors, but the task is classification"):
        reslab.train("digits", "cifar-resnet-8", weights=weights, fields={FORM: "alternating"}, runs=tmp_path / "runs")


def test_a_step_by_itself_needs_the_weights_of_another(place: Path) -> None:
    """A classifier proposes nothing, random weights less."""
    alone = {name: value for name, value in FIELDS.items() if name != FORM}
    alone |= {"task.trains": "regions", "task.trunks": "separate"}
    with pytest.raises(UserError, match=r"separate needs a detector to propose regions, and .* is a classifier; start"):
        train(place, place / "others", fields=alone)
    with pytest.raises(UserError, match=r"task\.trains=regions goes on from a trained network.*give weights=FILE"):
        train(place, place / "others", fields=alone | {"network.stem.width": 8}, weights=None)


def test_a_detector_can_propose_for_itself(place: Path) -> None:
    """What goes on from a detector on a trunk of its own keeps that detector's proposals."""
    alone = {name: value for name, value in FIELDS.items() if name != FORM}
    joint = read_steps(place)[-1].weights
    fields = {"task.trains": "regions", "task.trunks": "separate", "task.freeze": "conv2"}
    run = train(place, place / "more", fields=alone | fields, weights=joint)
    kept = {name.removeprefix("separate."): tensor for name, tensor in tensors_of(run.weights, "separate.").items()}
    known = read_weights(joint).tensors
    assert is_same(kept, {name: known[name] for name in kept})
    assert not is_same(tensors_of(run.weights, "body.blocks.conv4"), tensors_of(joint, "body.blocks.conv4"))


def test_recipes_for_both_at_once_have_some_for_each(place: Path) -> None:
    """Others serve all steps."""
    from reslab.experiments.alternating import RECIPES, choose_fields
    from reslab.spec.recipe import RECIPES as KNOWN

    assert {*RECIPES, *(name for pair in RECIPES.values() for name in pair)} <= KNOWN.keys()
    chosen = [choose_fields({"recipe": "voc-paper", "network": "a", "network.b": 1}, step) for step in range(4)]
    assert [each["recipe"] for each in chosen] == ["voc-proposals", "voc-regions"] * 2
    assert ["network" in each or "network.b" in each for each in chosen] == [True, False, False, False]
    assert choose_fields({"recipe": "objects"}, 2)["recipe"] == "objects" and choose_fields({}, 1) == {}


def test_the_joint_form_is_usual() -> None:
    """And the word is taken out of the fields."""
    fields: dict[str, Any] = {FORM: "Joint", "task.trains": "regions"}
    assert not take_form(fields) and fields == {"task.trains": "regions"}
    assert not take_form({})
