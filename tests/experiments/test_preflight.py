"""What is found out before a trial runs: refusals, doubts, memory and disk."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from tests.experiments.faults import make_trial
from tests.trials import DIGITS, make_digits_trial, make_photo_trial

from reslab.data.photos.folder import PhotoDataset
from reslab.errors import UserError
from reslab.experiments import preflight as looking
from reslab.experiments.estimate import disk_needs
from reslab.experiments.preflight import preflight, refuse_short_disk
from reslab.runs.directory import RunDirectory
from reslab.runtime.listener import Listener


def test_what_does_not_fit_is_refused_and_doubts_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory first, then what is hardly meant."""
    told: list[str] = []
    look = partial(preflight, device="cpu", listener=Listener(warn=told.append))
    look(make_digits_trial(), DIGITS)
    assert told == []
    monkeypatch.setattr(looking, "check_memory", lambda *_, **__: "memory is short")
    look(make_digits_trial(batch=2000), DIGITS)
    assert told[0] == "memory is short"
    assert told[1].startswith("recipe.batch is 2,000 and there are 1,442 training images")
    with pytest.raises(UserError, match="tells 9 classes apart"):
        look(replace(make_digits_trial(), network=replace(make_digits_trial().network, classes=9)), DIGITS)
    with pytest.raises(UserError, match="2 processes cannot share evenly"):
        look(make_digits_trial(batch=33), DIGITS, num_processes=2)


def test_what_is_hardly_meant_is_doubted(photos: PhotoDataset) -> None:
    """A batch of more images than there are; random weights that are kept so; what is slow on this device."""
    list_doubts = partial(looking.list_doubts, device="cpu")
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


def test_a_full_disk_is_told_before_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is needed, what is free, and what to do; what the run has already is not needed again."""
    trial, run = make_digits_trial(), RunDirectory(tmp_path / "runs" / "new")
    needed = disk_needs(trial).total_bytes + disk_needs(trial).checkpoint_bytes
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=needed - 1))
    with pytest.raises(UserError, match=r"runs/new needs \d\.\d MiB of disk and \d\.\d MiB are free; free some space"):
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
    with pytest.raises(UserError, match=r"runs needs .* of disk and .* are free"):
        refuse_short_disk(runs)
