"""One place makes the task of a trial, whatever its data."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.experiments.faults import make_trial
from tests.multilabel import make_labelled
from tests.photographs import make_photos
from tests.trials import DIGITS

from reslab.data.catalogue import open_data
from reslab.errors import UserError
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
