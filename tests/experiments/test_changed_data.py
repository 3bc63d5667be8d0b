"""Photographs that are no longer what a run was trained on."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tests.photographs import make_photos
from tests.runs_by_hand import finish_run

from reslab.data.photos.folder import read_folder
from reslab.experiments.trained import Trained, explain_lost_data, find_own_data
from reslab.experiments.trials import go_on_with_earlier, read_trial
from reslab.networks import create_model
from reslab.runs.directory import RunDirectory
from reslab.runtime.listener import Listener

FIELDS = {"network": "cifar-resnet-8", "recipe.epochs": "3", "recipe.batch": "2"}


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Eight and six photographs, to train and to test on."""
    return make_photos(tmp_path / "photos", train=4, val=3)


@pytest.fixture
def run(photos: Path, tmp_path: Path) -> RunDirectory:
    """A run on them that was interrupted."""
    dataset = read_folder(photos)
    trial = read_trial(FIELDS, dataset)
    run = RunDirectory.of(trial, tmp_path / "runs")
    counts = [len(dataset.train), len(dataset.test)]
    run.begin(trial, {"device": "cpu", "data_at": str(photos), "data_images": counts})
    return run


def hear(photos: Path, root: Path, **fields: str) -> list[str]:
    """Return what is said when the same command is given again."""
    said: list[str] = []
    make = lambda data: [read_trial(FIELDS | fields, data)]  # noqa: E731
    go_on_with_earlier(make, read_folder(photos), root, listener=Listener(warn=said.append))
    return said


def test_a_removed_photograph_is_told(photos: Path, run: RunDirectory) -> None:
    """With the numbers of images and the remedy, although its epochs are other iterations now."""
    assert hear(photos, run.path.parent) == []
    (photos / "train" / "blues" / "000.jpg").unlink()
    (told,) = hear(photos, run.path.parent)
    assert told == (
        f"photos has changed since {run.path} was trained on it (7 training and 6 test images now, 8 and 6 before), "
        "so this is a new run; restore the images to resume the old one"
    )
    finish_run(run, train_error_percent=1.0, test_error_percent=2.0)
    run.finish(run.result() | {"data_images": [8, 6]})
    (told,) = hear(photos, run.path.parent)
    assert told.endswith(f"restore the images to use the old one, or start from its weights with weights={run.weights}")
    assert hear(photos, run.path.parent, seed="1") == hear(photos, run.path.parent / "elsewhere") == []
    begun = RunDirectory.of(read_trial(FIELDS, read_folder(photos)), run.path.parent)
    begun.path.mkdir()
    assert hear(photos, run.path.parent) == []  # it has become a run of its own


def test_other_files_of_the_same_number_are_told(photos: Path, run: RunDirectory) -> None:
    """Also where an earlier version did not note how many there were."""
    (photos / "val" / "blues" / "000.jpg").rename(photos / "val" / "blues" / "zero.jpg")
    assert "(the same number of images, but different names, sizes or classes)" in hear(photos, run.path.parent)[0]
    run.write("provenance", {"sittings": [{"device": "cpu"}]})
    assert f"photos has changed since {run.path} was trained on it, so" in hear(photos, run.path.parent)[0]


def test_a_renamed_folder_is_told(photos: Path, run: RunDirectory) -> None:
    """Under its old name the run is found again."""
    (told,) = hear(photos.rename(photos.parent / "pictures"), run.path.parent)
    assert told.startswith(f"{run.path} was trained on the same images in a folder named photos, so this is a new run")
    assert told.endswith("rename the folder to photos to resume the old one")


def test_why_a_run_does_not_find_its_photographs(photos: Path, run: RunDirectory, tmp_path: Path) -> None:
    """They have changed, were moved, or their place is not known."""
    trained = Trained(origin="mine", network=create_model("cifar-resnet-8"), run=run, data=run.trial().data)
    found = find_own_data(trained)
    assert found is not None and found.fingerprint == read_folder(photos).fingerprint
    (photos / "train" / "blues" / "000.jpg").unlink()
    assert find_own_data(trained) is None
    told = explain_lost_data(trained)
    assert "(7 training and 6 test images now, 8 and 6 before); restore the images, or write data=FOLDER" in told
    shutil.move(photos, tmp_path / "away")
    told = explain_lost_data(trained)
    assert (
        told == f"mine was trained on the folder {photos}, which no longer exists; if it was moved, write data=FOLDER"
    )
    told = explain_lost_data(replace(trained, run=None))
    assert told == "mine was trained on a folder named photos, but its path is not recorded; write data=FOLDER"


def test_a_run_of_another_length_is_no_business_of_the_photographs(photos: Path, run: RunDirectory) -> None:
    """They have not changed; nor would the old name bring back a run with other settings."""
    assert hear(photos, run.path.parent, **{"recipe.epochs": "6"}) == []
    assert hear(photos.rename(photos.parent / "pictures"), run.path.parent, **{"recipe.epochs": "6"}) == []
