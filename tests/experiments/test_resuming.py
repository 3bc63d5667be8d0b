"""What is said where a run goes on by other means: what changed, and what that does to its end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.experiments.faults import make_trial
from tests.trials import DIGITS, make_photo_trial, stop_after

from reslab.data.arrays.dataset import ArrayDataset
from reslab.data.photos.folder import PhotoDataset
from reslab.experiments.run import run_trial
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
    return f"{package} {VERSIONS[package]} ({before} so far)"


@pytest.mark.parametrize(
    ("before", "changes"),
    [
        ({}, None),
        ({"compile": True}, "compile=false (true so far)"),
        (
            {"device": "NVIDIA H200", "fused": True},
            'device="cpu" ("NVIDIA H200" so far), fused=false (true so far)',
        ),
        ({"processes": 2}, "processes=1 (2 so far)"),
        ({"threads": 999}, "threads=1 (999 so far)"),
        ({"threads": 999, "versions": {"torch": "0.1"}}, f"threads=1 (999 so far), {now('torch')}"),
    ],
)
def test_going_on_by_other_means_is_told(before: dict[str, Any], changes: str | None, tmp_path: Path) -> None:
    """Another device, other kernels, other processes or threads: what was recorded of the last sitting is compared."""
    warnings = go_on(make_trial(), DIGITS, tmp_path, before)
    assert [warning.partition(":")[0] for warning in warnings] == [f"the run goes on with {changes}"][: bool(changes)]
    assert all("will not end bit for bit as it would have" in warning for warning in warnings)


@pytest.mark.parametrize(
    ("versions", "told"),
    [
        ({"torch": "0.1"}, f"{now('torch')}: the batches are the same, sums may be taken in another order"),
        ({"numpy": "0.1"}, f"{now('numpy')}: the batches may be others"),
        ({"pillow": "0.1", "simplejpeg": "0.1", "torchvision": "0.1", "safetensors": "0.1", "reslab": "0.0"}, None),
    ],
)
def test_other_versions_are_told_where_they_may_change_bits(
    versions: dict[str, str], told: str | None, tmp_path: Path
) -> None:
    """Of arrays, nothing is decoded."""
    warnings = go_on(make_trial(), DIGITS, tmp_path, {"versions": versions})
    expected = f"the run goes on with {told}, and it may not end bit for bit as it would have"
    assert warnings == [expected][: bool(told)]


@pytest.mark.parametrize(
    ("policy", "packages", "effects"),
    [
        ("none", ("pillow", "simplejpeg"), "the batches may be others"),
        ("none", ("torch",), "the batches may be others, sums may be taken in another order"),
        ("trivial", ("torchvision",), "the batches may be others"),
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
    expected = f"the run goes on with {changes}: {effects}, and it may not end bit for bit as it would have"
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
