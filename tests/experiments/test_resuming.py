"""Runs that go on by other means, and say what that does to their end; finished ones whose weights are made again."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.experiments.faults import make_trial
from tests.trials import DIGITS, make_photo_trial, outcome, stop_after

from reslab.data.arrays.dataset import ArrayDataset
from reslab.data.photos.folder import PhotoDataset
from reslab.errors import UserError
from reslab.experiments.resuming import find_loss
from reslab.experiments.run import run_trial
from reslab.networks import load_model, save_model
from reslab.runs.directory import RunDirectory
from reslab.runs.provenance import describe_surroundings
from reslab.runtime.listener import Listener
from reslab.spec.trial import Trial
from reslab.training.loop import Stopped

VERSIONS = describe_surroundings()["versions"]


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def go_on(trial: Trial, data: ArrayDataset | PhotoDataset, root: Path, before: dict[str, Any]) -> list[str]:
    """Return what is said to a run that goes on after a sitting that recorded other things than it did."""
    warnings: list[str] = []
    with pytest.raises(Stopped):
        run_trial(trial, data, root, listener=Listener(should_stop=stop_after(2), warn=warnings.append))
    provenance = RunDirectory.of(trial, root).path / "provenance.json"
    record = json.loads(provenance.read_text())
    sitting = record["sittings"][0]
    del sitting["normalized"]  # as in records from before it was
    sitting |= before | {"versions": sitting["versions"] | before.get("versions", {})}
    provenance.write_text(json.dumps(record))
    with pytest.raises(Stopped):
        run_trial(trial, data, root, listener=Listener(should_stop=stop_after(0), warn=warnings.append))
    return warnings


def now(package: str, before: str = "0.1") -> str:
    return f"{package} {VERSIONS[package]} ({before} before)"


@pytest.mark.parametrize(
    ("before", "changes"),
    [
        ({}, None),
        ({"compile": True}, "compile=false (true before)"),
        (
            {"device": "NVIDIA H200", "fused": True},
            'device="cpu" ("NVIDIA H200" before), fused=false (true before)',
        ),
        ({"processes": 2}, "processes=1 (2 before)"),
        ({"threads": 999}, "threads=1 (999 before)"),
        ({"threads": 999, "versions": {"torch": "0.1"}}, f"threads=1 (999 before), {now('torch')}"),
    ],
)
def test_going_on_by_other_means_is_told(before: dict[str, Any], changes: str | None, tmp_path: Path) -> None:
    """Another device, other kernels, other processes or threads: what was recorded of the last sitting is compared."""
    warnings = go_on(make_trial(), DIGITS, tmp_path, before)
    assert [warning.partition(":")[0] for warning in warnings] == [f"the run resumes with {changes}"][: bool(changes)]
    assert all("will not be exactly the same" in warning for warning in warnings)


@pytest.mark.parametrize(
    ("versions", "told"),
    [
        ({"torch": "0.1"}, f"{now('torch')}: the batches are the same, sums may be computed in a different order"),
        ({"numpy": "0.1"}, f"{now('numpy')}: the batches may differ"),
        ({"pillow": "0.1", "simplejpeg": "0.1", "torchvision": "0.1", "safetensors": "0.1", "reslab": "0.0"}, None),
    ],
)
def test_other_versions_are_told_where_they_may_change_bits(
    versions: dict[str, str], told: str | None, tmp_path: Path
) -> None:
    """Of arrays, nothing is decoded."""
    warnings = go_on(make_trial(), DIGITS, tmp_path, {"versions": versions})
    expected = f"the run resumes with {told}, and the result may not be exactly the same"
    assert warnings == [expected][: bool(told)]


@pytest.mark.parametrize(
    ("policy", "packages", "effects"),
    [
        ("none", ("pillow", "simplejpeg"), "the batches may differ"),
        ("none", ("torch",), "the batches may differ, sums may be computed in a different order"),
        ("trivial", ("torchvision",), "the batches may differ"),
        ("none", (), None),
    ],
)
def test_of_photographs_other_decoders_are_told_too(
    policy: str, packages: tuple[str, ...], effects: str | None, photos: PhotoDataset, tmp_path: Path
) -> None:
    """And torch, which resizes them, and torchvision, where its policies change them."""
    trial = make_photo_trial(photos, recipe__augmentation__policy=policy)
    old = dict.fromkeys(packages or ("torchvision",), "0.1")
    changes = ", ".join(map(now, packages))
    expected = f"the run resumes with {changes}: {effects}, and the result may not be exactly the same"
    assert go_on(trial, photos, tmp_path / "runs", {"versions": old}) == [expected][: bool(effects)]


def test_what_an_old_record_does_not_tell_is_not_compared(photos: PhotoDataset, tmp_path: Path) -> None:
    """Runs from before Pillow and simplejpeg were recorded go on without a word, and so do those without versions."""
    trial = make_photo_trial(photos)
    for recorded in ({"torch": VERSIONS["torch"]}, None):
        root = tmp_path / str(recorded)
        with pytest.raises(Stopped):
            run_trial(trial, photos, root, listener=Listener(should_stop=stop_after(2)))
        provenance = RunDirectory.of(trial, root).path / "provenance.json"
        record = json.loads(provenance.read_text())
        record["sittings"][0]["versions"] = recorded
        if recorded is None:
            del record["sittings"][0]["versions"]
        provenance.write_text(json.dumps(record))
        with pytest.raises(Stopped):
            run_trial(trial, photos, root, listener=Listener(should_stop=stop_after(0), warn=pytest.fail))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """A run that nothing happened to."""
    torch.set_num_threads(1)
    return run_trial(make_trial(), DIGITS, tmp_path_factory.mktemp("whole"))


@pytest.fixture
def run(whole: RunDirectory, tmp_path: Path) -> RunDirectory:
    """A copy of it."""
    return RunDirectory(shutil.copytree(whole.path, tmp_path / whole.path.name))


@pytest.mark.parametrize("damage", ["gone", "cut", "flipped"])
def test_lost_weights_are_made_again_from_the_last_checkpoint(
    damage: str, whole: RunDirectory, run: RunDirectory
) -> None:
    """Without an iteration, and to the bit: the weights, the log, and the result that was recorded."""
    content = run.weights.read_bytes()
    if damage == "gone":
        run.weights.unlink()
    else:
        run.weights.write_bytes(content[:-5] if damage == "cut" else content[:-1] + bytes([content[-1] ^ 1]))
    told: list[str] = []
    steps: list[int] = []
    listener = Listener(progress=lambda step, metrics: steps.append(step), warn=told.append)
    run_trial(make_trial(), DIGITS, run.path.parent, listener=listener)
    assert steps == [make_trial().recipe.iterations]  # a bar is full, not empty
    lost = "gone" if damage == "gone" else "damaged"
    assert told == [f"{run.path} is finished, but its weights are {lost}; restoring them from its last checkpoint"]
    assert outcome(run) == outcome(whole)
    assert run.weights.read_bytes() == content


def test_lost_weights_are_trained_again_without_checkpoints(whole: RunDirectory, run: RunDirectory) -> None:
    """The result stands until there is a new one, also over a stop; from what that saved the same command goes on."""
    run.weights.unlink()
    shutil.rmtree(run.checkpoints)
    told: list[str] = []
    with pytest.raises(Stopped):
        run_trial(make_trial(), DIGITS, run.path.parent, listener=Listener(should_stop=stop_after(3), warn=told.append))
    assert (run.state, run.result()) == ("finished", whole.result())
    run_trial(make_trial(), DIGITS, run.path.parent, listener=Listener(warn=told.append))
    words = f"{run.path} is finished, but its weights are gone; training it again"
    assert told == [words, f"{words} from iteration 4"]
    assert outcome(run) == outcome(whole)


def test_a_run_made_again_that_came_to_something_else_is_told(whole: RunDirectory, run: RunDirectory) -> None:
    """As it may on another device."""
    run.weights.unlink()
    run.finish(run.result() | {"error_percent": 99.5})
    told: list[str] = []
    run_trial(make_trial(), DIGITS, run.path.parent, listener=Listener(warn=told.append))
    found = whole.result()["error_percent"]
    assert f"restored with a different result: error_percent is {found:.6g}, was 99.5" in told[-1]
    assert run.result() == whole.result()


def test_weights_that_may_not_be_read_are_not_lost(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody trains them again for that."""
    assert find_loss(run, make_trial()) == ""

    def refuse(path: Path, *_: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(UserError, match="cannot be read: Permission denied; check the run's permissions"):
        find_loss(run, make_trial())


def test_another_runs_weights_are_not_written_over(run: RunDirectory) -> None:
    """They may be the only ones it has; moved away, this run's are made again."""
    stranger = load_model(run.weights)
    save_model(stranger, run.weights, provenance={"trial": replace(make_trial(), seed=5).id})
    content = run.weights.read_bytes()
    with pytest.raises(UserError, match="restore the run's own weights, or move these away and train it again"):
        run_trial(make_trial(), DIGITS, run.path.parent)
    assert run.weights.read_bytes() == content
    run.weights.unlink()
    run_trial(make_trial(), DIGITS, run.path.parent)
    assert find_loss(run, make_trial()) == ""
