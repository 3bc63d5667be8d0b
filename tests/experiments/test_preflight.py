"""What is found out before a trial runs: doubts, memory and disk, and what does not go together."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.experiments.faults import make_trial
from tests.multilabel import make_labelled
from tests.photographs import make_photos
from tests.trials import DIGITS, make_digits_trial, make_photo_trial

from reslab.data.catalogue import open_data
from reslab.data.photos.folder import PhotoDataset
from reslab.data.validation import draw_held_back
from reslab.errors import UserError
from reslab.experiments import preflight as looking
from reslab.experiments.estimate import disk_needs
from reslab.experiments.preflight import (
    preflight,
    refuse_misfit,
    refuse_other_classes,
    refuse_short_disk,
    refuse_unfit_trial,
)
from reslab.experiments.trials import read_trial
from reslab.networks import create_model
from reslab.runs.directory import RunDirectory
from reslab.runtime.listener import Listener
from reslab.spec import find
from reslab.spec.detection import Detection

SMALL = {"network": "cifar-resnet-8", "network.input_size": "24", "recipe.batch": "4"}


def test_what_does_not_fit_is_refused_and_doubts_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory first, then what is hardly meant."""
    told: list[str] = []
    look = partial(preflight, device="cpu", listener=Listener(warn=told.append))
    look(make_digits_trial(), DIGITS)
    assert told == []
    monkeypatch.setattr(looking, "check_memory", lambda *_, **__: "memory is short")
    look(make_digits_trial(batch=2000), DIGITS)
    assert told[0] == "memory is short"
    assert told[1].startswith("recipe.batch is 2,000, but there are only 1,442 training images")
    with pytest.raises(UserError, match="has 9 outputs"):
        look(replace(make_digits_trial(), network=replace(make_digits_trial().network, classes=9)), DIGITS)
    with pytest.raises(UserError, match="2 processes cannot share evenly"):
        look(make_digits_trial(batch=33), DIGITS, num_processes=2)


def test_what_is_hardly_meant_is_doubted(photos: PhotoDataset) -> None:
    """A batch of more images than there are; random weights that are kept so; what is slow on this device."""
    list_doubts = partial(looking.list_doubts, device="cpu")
    assert list_doubts(make_photo_trial(photos), photos) == []
    images = len(photos.train)
    (large,) = list_doubts(make_photo_trial(photos, recipe__batch=str(images + 1)), photos)
    assert f"recipe.batch is {images + 1}, but there are only {images} training images" in large
    frozen = make_photo_trial(photos, recipe__freeze="body")
    (random,) = list_doubts(frozen, photos)
    assert "recipe.freeze without weights= freezes random weights" in random
    assert list_doubts(replace(frozen, start="0" * 64), photos) == []
    tuning = replace(make_trial(), data=replace(make_trial().data, split="tuning"))
    batch = len(DIGITS.train) - 100
    assert list_doubts(replace(tuning, recipe=replace(tuning.recipe, batch=batch)), DIGITS) != []
    narrow = make_photo_trial(photos, recipe__precision="fp16")
    assert list_doubts(narrow, photos, device="cuda") == []
    assert list_doubts(narrow, photos) == [
        "recipe.precision=fp16 is for GPUs and slow on a CPU; set recipe.precision=bf16"
    ]


def test_a_full_disk_is_told_before_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is needed, what is free, and what to do; what the run has already is not needed again."""
    trial, run = make_digits_trial(), RunDirectory(tmp_path / "runs" / "new")
    needed = disk_needs(trial).total_bytes + disk_needs(trial).checkpoint_bytes
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=needed - 1))
    with pytest.raises(
        UserError, match=r"runs/new needs \d\.\d MiB of disk space, but \d\.\d MiB are free; free some space"
    ):
        refuse_short_disk([(trial, run)])
    run.path.mkdir(parents=True)
    (run.path / "weights.safetensors").write_bytes(bytes(1000))
    refuse_short_disk([(trial, run)])


def test_a_set_that_does_not_fit_is_told_before_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the disk lacks for all of them, and one checkpoint more while it is written."""
    trials = [replace(make_digits_trial(), seed=seed) for seed in range(3)]
    runs = [(trial, RunDirectory.of(trial, tmp_path / "runs")) for trial in trials]
    needed = 3 * disk_needs(trials[0]).total_bytes + disk_needs(trials[0]).checkpoint_bytes
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=needed))
    refuse_short_disk(runs)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=needed - 1))
    with pytest.raises(UserError, match=r"runs needs .* of disk space, but .* are free"):
        refuse_short_disk(runs)


def test_another_task_is_refused(tmp_path: Path) -> None:
    """A trial for images of one class does not train on those of several labels."""
    tagged = open_data(str(make_labelled(tmp_path / "tagged", count=4)))
    photos = open_data(str(make_photos(tmp_path / "photos", train=2, val=1)))
    trial = read_trial({**SMALL, "network.classes": str(len(tagged.class_names))}, photos)
    with pytest.raises(UserError, match="the task is classification, but tagged is for multi-label"):
        refuse_unfit_trial(trial, tagged)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"recipe": "cifar-paper"}, "crop is padded, which is for images of one size"),
        ({"data__split": "tuning"}, r"data\.split=tuning"),
        ({"network__classes": "5"}, "has 5 outputs, but photos has 2 classes"),
        (
            {"recipe__augmentation__cutout": "8"},
            r"augmentation\.cutout is 8, which is only for images of one size; leave out recipe\.augmentation\.cutout",
        ),
        (
            {"network": "vit-b-16", "network__input_size": "224", "recipe__resizing__initial": "0.5"},
            r"resizing\.initial is 0\.5, but crops of 128 pixels are too small for vit",
        ),
        (
            {"network__input_size": "64", "recipe__resizing__initial": "0.9"},
            r"resizing\.initial is 0\.9, which gives crops of 64 pixels, the full size \(sizes are multiples of 32\)",
        ),
        ({"network": "resnet-18", "network__input_size": "1"}, r"shape \(3, 1, 1\) do not pass through this network"),
        (
            {"recipe__freeze": "conv9"},
            r"recipe\.freeze is conv9, which cifar-resnet-8 .* does not have; choose stem, conv2, .* or body",
        ),
        (
            {"network": "resnet-18", "network__input_size": "32", "recipe__accumulate": "8"},
            "resnet-18 .*would normalize one image at a time .* choose a larger recipe.batch",
        ),
    ],
)
def test_what_does_not_fit_photographs_is_told(fields: dict[str, str], sentence: str, photos: PhotoDataset) -> None:
    """A recipe for small images, a tuning split, a network for other classes; what would be recorded and not done."""
    with pytest.raises(UserError, match=sentence):
        refuse_unfit_trial(make_photo_trial(photos, **fields), photos)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("augmentation.mixup", "0.2"),
        ("augmentation.crop", "resized"),
        ("centring", "imagenet"),
        ("resizing.initial", "0.5"),
    ],
)
def test_what_does_not_fit_arrays_is_told(field: str, value: str) -> None:
    """Mixing, crops, other centring and growing crops are for photographs."""
    trial = read_trial({"network": "cifar-resnet-8", f"recipe.{field}": value}, DIGITS)
    with pytest.raises(UserError, match=rf"recipe\.{field} is {value}, which is only for photographs"):
        refuse_unfit_trial(trial, DIGITS)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"classes": 9}, "it has 9 outputs, but digits has 10 classes; give another"),
        ({"channels": 3}, "it takes inputs of 3 x 8 x 8, but digits has images of 1 channel; give another"),
        ({"channels": 4, "input_size": 32}, "it takes inputs of 4 x 32 x 32, but digits has images of 1 channel"),
    ],
)
def test_a_network_of_other_inputs_or_outputs_is_refused(fields: dict[str, int], sentence: str) -> None:
    """With the remedy of whoever asks; another size is none of this."""
    fitting = {"channels": 1, "input_size": 8}
    refuse_misfit("it", find("cifar-resnet-8", {"channels": 1}), DIGITS, DIGITS.class_names, remedy="give another")
    with pytest.raises(UserError, match=sentence):
        refuse_misfit("it", find("cifar-resnet-8", fitting | fields), DIGITS, DIGITS.class_names, remedy="give another")


@pytest.mark.parametrize(
    ("known", "sentence"),
    [
        ("0123456798", "for the same classes in another order: it has '9' where digits has '8'"),
        ("012345678x", "for other classes: it has 'x' where digits has '9'"),
        ("01234", "it has 5 outputs, but digits has 10 classes"),
    ],
)
def test_outputs_that_mean_something_else_are_refused(known: str, sentence: str) -> None:
    """By their names, where the network knows them; by their number else."""
    network = create_model("cifar-resnet-8", classes=len(known), channels=1, input_size=8)
    if len(known) == 10:
        refuse_other_classes("it", network, DIGITS, DIGITS.class_names)
    network.class_names = tuple(known)
    with pytest.raises(UserError, match=f"{sentence}; give the data it was trained for"):
        refuse_other_classes("it", network, DIGITS, DIGITS.class_names)


@pytest.mark.parametrize(
    ("score", "validation", "sentence"),
    [
        ("loss", 0.0, r"needs validation images, .* add data\.validation=0\.1"),
        ("accuracy", 0.1, r"recipe\.keep_best is 'accuracy'; choose error_percent, top5_error_percent or loss"),
        ("loss", 0.9999, r"data\.validation is 0\.9999, which leaves none of 1,442 images to train on"),
    ],
)
def test_the_best_weights_need_a_score_and_images(score: str, validation: float, sentence: str) -> None:
    """Test images are never what is chosen by."""
    trial = make_digits_trial(keep_best=score)
    with pytest.raises(UserError, match=sentence):
        refuse_unfit_trial(replace(trial, data=replace(trial.data, validation=validation)), DIGITS)


def test_a_warm_up_longer_than_the_run_is_doubted() -> None:
    """It never reaches its rate."""
    trial = make_digits_trial(**{"warmup.iterations": 700})
    (doubt,) = looking.list_doubts(trial, DIGITS, device="cpu")
    assert doubt.startswith("recipe.warmup.iterations is 700, but the run has only 640")


def test_validation_images_without_any_label_are_refused(tmp_path: Path) -> None:
    """Before the training whose first evaluation they would end."""
    dataset = open_data(str(make_labelled(tmp_path / "shapes")))
    kept = np.array([index for index in range(len(dataset.train)) if index % 13 == 0])
    targets = np.zeros_like(dataset.train.targets)
    targets[kept] = dataset.train.targets[kept]
    rare = replace(dataset, train=replace(dataset.train, targets=targets))
    trial = read_trial(SMALL | {"data.validation": "0.1", "data.held_out_seed": "0"}, dataset)
    held = set(draw_held_back(dataset.train, trial.data).tolist())
    assert held.isdisjoint(kept.tolist())
    with pytest.raises(UserError, match=rf"none of the {len(held)} validation images has a label; raise data\.valid"):
        refuse_unfit_trial(trial, rare)


def test_few_images_to_choose_by_are_doubted() -> None:
    """Their errors tie; the loss tells more."""
    trial = make_digits_trial(keep_best="error_percent")
    few, many = (replace(trial, data=replace(trial.data, validation=share)) for share in (0.02, 0.1))
    (doubt,) = looking.list_doubts(few, DIGITS, device="cpu")
    assert doubt.startswith("recipe.keep_best=error_percent chooses by only 29 images, so chance decides")
    assert looking.list_doubts(many, DIGITS, device="cpu") == []
    by_loss = replace(few, recipe=replace(few.recipe, keep_best="loss"))
    assert looking.list_doubts(by_loss, DIGITS, device="cpu") == []
    assert doubt.endswith("or set recipe.keep_best=loss, which tells more")
    detector = replace(few, task=Detection(), recipe=replace(few.recipe, keep_best="map50_percent"))
    (doubt,) = looking.list_doubts(detector, DIGITS, device="cpu")
    assert doubt.endswith("chance decides between tests; raise data.validation")  # tests of detectors have no loss


def test_a_task_that_data_do_not_serve_is_refused_first() -> None:
    """Before anything is said of the network, which that task would not build."""
    with pytest.raises(UserError, match="the task is detection, but digits is for classification; give data for"):
        refuse_unfit_trial(replace(make_digits_trial(), task=Detection()), DIGITS)
