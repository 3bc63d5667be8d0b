"""Claims become trials, those that are not finished become runs, and what claims ask for is measured."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.multilabel import make_labelled
from tests.networks.detection.scenes import THIN
from tests.objects import make_scenes, write_voc
from tests.photographs import make_photos
from tests.trials import make_photo_trial

from reslab.data.arrays.dataset import ArrayDataset
from reslab.data.arrays.split import ArraySplit
from reslab.data.photos.editions import Edition
from reslab.data.photos.folder import read_folder
from reslab.errors import UserError
from reslab.experiments import reproduce as reproducing
from reslab.experiments import together
from reslab.experiments.paper_objects import open_objects
from reslab.experiments.reproduce import expand, on_these, open_imagenet, plan_runs, reproduce
from reslab.networks import build, save_model
from reslab.paper.claims import CLAIMS
from reslab.runs.directory import RunDirectory
from reslab.runtime.listener import Listener
from reslab.spec import find, name_of
from reslab.spec.detection import Detection
from reslab.spec.trial import Trial, trial_to_dict
from reslab.training.loop import Stopped

EMPTY = ArraySplit(np.empty((0, 3, 32, 32), dtype=np.uint8), np.empty(0, dtype=np.uint8))
DATASET = ArrayDataset(name="cifar10", class_names=(), train=EMPTY, test=EMPTY)


def test_a_table_is_its_trials_times_seeds() -> None:
    """Methods that are not built are left out; each trial comes once, all networks of a seed before the next."""
    trials = list(expand(CLAIMS["table-6"], DATASET, seeds=2))
    names = ["highway-19", "highway-32", *[f"resnet-{depth}" for depth in (20, 32, 44, 56, 110, 1202)]]
    assert [(name_of(trial.network), trial.seed) for trial in trials] == [
        (name, seed) for seed in (1, 2) for name in names
    ]
    assert [trial.recipe.warmup is not None for trial in trials[:8]] == [False] * 6 + [True] * 2
    assert all(trial.data.fingerprint == DATASET.fingerprint for trial in trials)
    assert len(expand(CLAIMS["fig-1"], DATASET, seeds=1)) == 2
    assert len(expand(CLAIMS["fig-6"], DATASET, seeds=1)) == 11


def test_fields_can_be_changed() -> None:
    """Those of the recipe, the split, and what trades time for memory."""
    fields = {"recipe.iterations": "80", "data.split": "tuning", "network.checkpointing": "true"}
    (trial, _) = expand(CLAIMS["fig-1"], DATASET, seeds=1, overrides=fields)
    assert (trial.recipe.iterations, trial.data.split, trial.network.checkpointing) == (80, "tuning", True)
    split = ArraySplit(np.empty((640, 3, 32, 32), dtype=np.uint8), np.zeros(640, dtype=np.uint8))
    (trial, _) = expand(CLAIMS["fig-1"], replace(DATASET, train=split), seeds=1, overrides={"recipe.epochs": "20"})
    assert trial.recipe.iterations == 20 * 640 // 128
    with pytest.raises(UserError, match=r"recipe\.schedule\.final has no effect with recipe\.schedule\.kind=steps"):
        expand(CLAIMS["fig-1"], DATASET, seeds=1, overrides={"recipe.schedule.final": "0.1"})
    with pytest.raises(
        UserError, match=r"data\.on_bad_image is only for folders of photographs, and cifar10 is not one"
    ):
        expand(CLAIMS["fig-1"], DATASET, seeds=1, overrides={"data.on_bad_image": "skip"})


@pytest.mark.parametrize(
    ("table", "fields", "every"),
    [
        ("fig-1", {}, 1_000),
        ("fig-1", {"recipe.iterations": "2000"}, 31),
        ("fig-1", {"recipe.iterations": "64"}, 1),
        ("fig-1", {"recipe.iterations": "2000", "recipe.evaluate_every": "20"}, 20),
        ("fig-1", {"recipe.iterations": "128000"}, 1_000),
        ("table-6", {"recipe.iterations": "2000"}, 1_000),
    ],
)
def test_a_shorter_run_has_a_finer_log_where_a_curve_is_read(table: str, fields: dict[str, str], every: int) -> None:
    """So that its curves can be judged; where only the end counts, it stays."""
    trials = expand(CLAIMS[table], DATASET, seeds=1, overrides=fields)
    assert {trial.recipe.evaluate_every for trial in trials if "highway" not in trial.id} == {every}


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (
            {"recipe.iterations": "63"},
            r"recipe\.iterations is 63, too few .* recipe\.evaluate_every=1; give at least 64",
        ),
        (
            {"recipe.iterations": "2000", "recipe.evaluate_every": "32"},
            r"recipe\.evaluate_every is 32, too coarse .* fig-1 in 2,000 iterations; give at most 31",
        ),
    ],
)
def test_a_log_too_coarse_is_refused_before_training(fields: dict[str, str], sentence: str) -> None:
    """With the field to change."""
    with pytest.raises(UserError, match=sentence):
        expand(CLAIMS["fig-1"], DATASET, seeds=1, overrides=fields)


@pytest.mark.parametrize("field", ["network.shortcut", "data.name", "recipe", "seed", "lr"])
def test_another_experiment_is_refused(field: str) -> None:
    """What would not be the paper's network or data any more."""
    with pytest.raises(UserError, match=f"not '{field}'; for another experiment"):
        expand(CLAIMS["fig-1"], DATASET, seeds=1, overrides={field: "B"})


def test_photographs_stand_in_for_imagenet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As themselves: their name and classes, told as lacking ImageNet; as many as ImageNet has are taken for it."""
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path / "data"))
    assert open_imagenet(None) is None
    with pytest.raises(UserError, match=r"labels\.csv gives each image several labels, but ImageNet has one"):
        open_imagenet(make_labelled(tmp_path / "tagged", count=1))
    place = make_photos(tmp_path / "birds", train=2, val=1)
    dataset = open_imagenet(place)
    assert dataset is not None
    claims = on_these(CLAIMS["table-2"], dataset)
    trials = list(expand(claims, dataset, seeds=1))
    assert [(trial.data.name, trial.network.classes) for trial in trials] == [("birds", 2)] * 4
    assert trials == [setting.trial(seed=1) for setting in dict.fromkeys(s for claim in claims for s in claim.settings)]
    assert all("2 images of birds" in setting.lacks for claim in claims for setting in claim.settings)
    monkeypatch.setattr(reproducing, "WHOLE", (2, 4, 2))
    dataset = open_imagenet(place)
    assert dataset is not None
    assert dataset.name == "imagenet"
    assert on_these(CLAIMS["table-2"], dataset) == tuple(CLAIMS["table-2"])
    (tmp_path / "data").mkdir()
    place.rename(tmp_path / "data" / "imagenet")
    prepared = open_imagenet(None)
    assert prepared is not None
    assert prepared.root == tmp_path / "data" / "imagenet"


def test_photographs_are_read_as_the_runs_of_an_earlier_version_had_them(tmp_path: Path) -> None:
    """So that they are judged, and not trained again; where runs of now are there too, as now."""
    flat, runs = make_photos(tmp_path / "photos", train=20) / "train", tmp_path / "runs"
    now, then = read_folder(flat), read_folder(flat, edition=Edition.FIRST)
    for photos in (then, now):
        trial = make_photo_trial(photos)
        run = RunDirectory.of(trial, runs)
        run.path.mkdir(parents=True)
        run.write("trial", trial_to_dict(trial))
        found = open_imagenet(flat, runs=runs)
        assert found is not None
        assert found.test.files == photos.test.files


def test_only_what_is_missing_is_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every run is measured, also one that was finished before."""
    plan = plan_runs(CLAIMS["fig-1"], DATASET, tmp_path, seeds=2, together=1)
    trials = list(plan.trials)
    ran: list[Trial] = []

    def run_trial(trial: Trial, dataset: ArrayDataset, root: Path, **_: object) -> None:
        ran.append(trial)
        RunDirectory.of(trial, root).finish({})

    monkeypatch.setattr(together, "run_trial", run_trial)
    RunDirectory.of(trials[1], tmp_path).finish({})
    measured: list[str] = []
    note = "reslab.experiments.reproduce._measure"
    monkeypatch.setattr(note, lambda plan, run, setting, listener: measured.append(run.path.name))
    reproduce(plan, listener=Listener())
    assert {trial.id for trial in ran} == {trial.id for trial in trials} - {trials[1].id}
    assert len(ran) == len(trials) - 1
    assert measured == [trial.id for trial in trials]


def test_a_wish_to_stop_ends_it_between_trials_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Before the next one begins."""
    monkeypatch.setattr(together, "run_trial", lambda *_, **__: pytest.fail("it ran"))
    with pytest.raises(Stopped):
        reproduce(plan_runs(CLAIMS["fig-1"], DATASET, tmp_path), listener=Listener(should_stop=lambda: True))


def test_a_plan_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Before and after; its fields are those of the command line, typed or as text."""
    claims = [claim for claim in CLAIMS["table-6"] if claim.row == "ResNet-20"]

    def run_trial(trial: Trial, dataset: ArrayDataset, root: Path, *, listener: Listener, **_: object) -> None:
        listener.progress(trial.recipe.iterations, {})
        RunDirectory.of(trial, root).finish({})

    monkeypatch.setattr(together, "run_trial", run_trial)
    plan = plan_runs(claims, DATASET, tmp_path, seeds=2, fields={"recipe.iterations": 2})
    assert plan.trials == plan_runs(claims, DATASET, tmp_path, seeds=2, fields={"recipe.iterations": "2"}).trials
    assert (plan.missing, plan.together) == (list(plan.trials), 8 if plan.device == "cuda" else 1)
    steps: list[tuple[int, int]] = []
    reproduce(
        plan,
        listener=Listener(
            enter=lambda trial, total: nullcontext(lambda step, metrics: steps.append((trial.seed, step)))
        ),
    )
    assert (plan.missing, steps) == ([], [(1, 2), (2, 2)])


def test_detectors_are_planned_as_far_as_weights_and_images_go(tmp_path: Path) -> None:
    """Of Table 9 two trials of ResNet-50, and three tests of them; of an ensemble nothing, if no weights fit it."""
    place = write_voc(tmp_path / "toys", train=make_scenes("a", 4), val=make_scenes("b", 3))
    dataset = open_objects(place, CLAIMS["table-9"])
    assert dataset is not None
    small = " ".join(["resnet-18", *[f"{field}={value}" for field, value in THIN.items()]])
    weights = save_model(build(find("resnet-18", THIN)), tmp_path / "thin.safetensors")
    claims = [
        replace(claim, settings=tuple(replace(setting, network=small) for setting in claim.settings))
        if claim.row.startswith("ResNet-50") or claim.row == "baseline ResNet-50"
        else claim
        for claim in CLAIMS["table-9"]
    ]
    plan = plan_runs(claims, dataset, tmp_path, weights=weights, fields={"recipe.iterations": 2, "task.shorter": 64})
    assert len(plan.trials) == 2
    baseline, context = plan.trials
    assert isinstance(baseline.task, Detection) and isinstance(context.task, Detection)
    assert (baseline.task.context, context.task.context) == (False, True)
    assert {(trial.data.name, trial.network.classes, trial.recipe.iterations) for trial in plan.trials} == {
        ("toys", 3, 2)
    }
    assert baseline.start == context.start is not None
    asked = [(name, trials) for name, trials in plan.unmeasured]
    assert asked == [("refined", [baseline]), ("refined", [context]), ("refined-several-scales", [context])]
    for field, value in (("task.context", "true"), ("task.trains", "proposals"), ("task.norm", "trained")):
        with pytest.raises(UserError, match=f"does not take {field}, which makes another detector"):
            plan_runs(claims, dataset, tmp_path, weights=weights, fields={field: value})
