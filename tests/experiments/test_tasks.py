"""One place makes the task of a trial, whatever its data."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from tests.experiments.faults import make_trial
from tests.multilabel import make_labelled
from tests.photographs import make_photos
from tests.trials import DIGITS, make_photo_trial

from reslab.data.catalogue import open_data
from reslab.data.photos.folder import PhotoDataset
from reslab.errors import UserError
from reslab.experiments import tasks
from reslab.experiments.arrays import ArrayTask
from reslab.experiments.multilabel import MultiLabelTask
from reslab.experiments.photos import PhotoTask
from reslab.experiments.tasks import make_task, refuse_unfit_trial
from reslab.experiments.trials import read_trial
from reslab.runs.directory import RunDirectory

SMALL = {"network": "cifar-resnet-8", "network.input_size": "24", "recipe.batch": "4"}


def test_the_data_says_which_task(tmp_path: Path) -> None:
    """Arrays, photographs of one class each, or of several labels; a mean of photographs is kept in their run."""
    assert type(make_task(make_trial(), DIGITS, device="cpu")) is ArrayTask
    photos = open_data(str(make_photos(tmp_path / "photos", train=2, val=1)))
    trial = read_trial({**SMALL, "recipe.centring": "mean-image"}, photos)
    run = RunDirectory(tmp_path / "run")
    assert type(make_task(trial, photos, device="cpu", run=run)) is PhotoTask
    assert (run.path / "mean.safetensors").exists()
    tagged = open_data(str(make_labelled(tmp_path / "tagged", count=4)))
    assert type(make_task(read_trial(SMALL, tagged), tagged, device="cpu")) is MultiLabelTask


def test_another_task_is_refused(tmp_path: Path) -> None:
    """A trial for images of one class does not train on those of several labels."""
    tagged = open_data(str(make_labelled(tmp_path / "tagged", count=4)))
    photos = open_data(str(make_photos(tmp_path / "photos", train=2, val=1)))
    trial = read_trial({**SMALL, "network.classes": str(len(tagged.class_names))}, photos)
    with pytest.raises(UserError, match="the trial's task is classification and tagged is for multi-label"):
        refuse_unfit_trial(trial, tagged)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"recipe": "cifar-paper"}, "crop is padded, which is for images of one size"),
        ({"data__split": "tuning"}, r"data\.split is tuning"),
        ({"network__classes": "5"}, "tells 5 classes apart and photos has 2"),
        (
            {"recipe__augmentation__cutout": "8"},
            r"augmentation\.cutout is 8, which is for images of one size; leave it out",
        ),
        (
            {"network": "vit-b-16", "network__input_size": "224", "recipe__resizing__initial": "0.5"},
            r"resizing\.initial is 0\.5, and crops of 128 pixels do not pass through vit",
        ),
        (
            {"network__input_size": "64", "recipe__resizing__initial": "0.9"},
            r"resizing\.initial is 0\.9, and no multiple of 32 .* than crops of 64",
        ),
        ({"network": "resnet-18", "network__input_size": "1"}, r"shape \(3, 1, 1\) do not pass through this network"),
        ({"recipe__freeze": "conv9"}, r"recipe\.freeze is conv9; cifar-resnet-8 .* has stem, conv2, .* or body"),
        (
            {"network": "resnet-18", "network__input_size": "32", "recipe__accumulate": "8"},
            "one image at a time goes through resnet-18 .* choose a larger recipe.batch",
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
    with pytest.raises(UserError, match=rf"recipe\.{field} is {value}, which is for photographs"):
        refuse_unfit_trial(trial, DIGITS)


def test_what_is_hardly_meant_is_doubted(photos: PhotoDataset) -> None:
    """A batch of more images than there are; random weights that are kept so; what is slow on this device."""
    list_doubts = partial(tasks.list_doubts, device="cpu")
    assert list_doubts(make_photo_trial(photos), photos) == []
    images = len(photos.train)
    (large,) = list_doubts(make_photo_trial(photos, recipe__batch=str(images + 1)), photos)
    assert f"recipe.batch is {images + 1} and there are {images} training images" in large
    frozen = make_photo_trial(photos, recipe__freeze="body")
    (random,) = list_doubts(frozen, photos)
    assert "recipe.freeze without weights= keeps what it freezes random" in random
    assert list_doubts(replace(frozen, start="0" * 64), photos) == []
    tuning = replace(make_trial(), data=replace(make_trial().data, split="tuning"))
    batch = len(DIGITS.train) - 100
    assert list_doubts(replace(tuning, recipe=replace(tuning.recipe, batch=batch)), DIGITS) != []
    narrow = make_photo_trial(photos, recipe__precision="fp16")
    assert list_doubts(narrow, photos, device="cuda") == []
    assert list_doubts(narrow, photos) == [
        "recipe.precision=fp16 is for GPUs and slow on a CPU; bf16 is the fast one here"
    ]
