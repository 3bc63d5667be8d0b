"""What runs no longer need goes, and nothing else."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from reslab.files import atomic_write
from reslab.runs.directory import RunDirectory
from reslab.runs.pruning import find_spared, find_waste, prune
from reslab.spec import find, spec_to_dict
from reslab.spec.recipe import find_recipe
from reslab.spec.trial import DataSpec, Trial

TRIAL = Trial(data=DataSpec(name="digits", fingerprint="x"), network=find("resnet-20"), recipe=find_recipe("digits"))


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """An interrupted run with two checkpoints, and a half-written file that a killed writer left."""
    run = RunDirectory.of(TRIAL, tmp_path)
    run.begin(TRIAL, {"device": "cpu"})
    for step in (1, 2):
        with atomic_write(run.checkpoints / f"step-{step:08d}.safetensors") as path:
            path.write_bytes(b"x" * 100)
    with atomic_write(run.checkpoints / "step-00000003.safetensors") as path:
        half = path.with_name(path.name.replace("step-00000003", "step-00000004"))
        half.write_bytes(b"y" * 10)
    (run.checkpoints / "step-00000003.safetensors").unlink()
    with run.working():
        pass
    return run


def finish(run: RunDirectory) -> None:
    write_whole(run.weights)
    run.finish({})


def write_whole(path: Path, trial: Trial = TRIAL) -> None:
    """Write a weight file of one tensor of four bytes, which says that it is of `trial`."""
    about = {"spec": spec_to_dict(trial.network), "provenance": {"trial": trial.id}}
    save_file({"w": np.zeros(1, np.float32)}, path, {"reslab": json.dumps(about)})


def files(run: RunDirectory) -> set[str]:
    return {path.name for path in run.path.rglob("*") if path.is_file()}


def test_a_finished_run_keeps_all_but_its_checkpoints(run: RunDirectory) -> None:
    """And says how much that is before and after."""
    finish(run)
    assert sorted((part.what, part.size) for part in find_waste(run)) == [
        ("checkpoints of a finished run", 200),
        ("temporary files", 10),
    ]
    assert prune(run) == 210
    assert files(run) == {"trial.json", "provenance.json", "result.json", "weights.safetensors", "lock"}
    assert (prune(run), find_waste(run)) == (0, [])


def test_an_interrupted_run_keeps_its_checkpoints(run: RunDirectory) -> None:
    """Only what a dead writer left goes."""
    assert prune(run) == 10
    assert {"step-00000001.safetensors", "step-00000002.safetensors"} <= files(run)


def test_an_interrupted_run_goes_if_asked(run: RunDirectory) -> None:
    """As a whole; a finished one does not."""
    (waste,) = find_waste(run, interrupted=True)
    assert prune(run, interrupted=True) == waste.size > 210
    assert not run.path.exists()


def test_a_finished_run_stays_whatever_is_asked(run: RunDirectory) -> None:
    """`interrupted` means what it says."""
    finish(run)
    prune(run, interrupted=True)
    assert run.state == "finished"


def test_checkpoints_stay_where_weights_are_missing(run: RunDirectory) -> None:
    """They are all that is left of the training."""
    run.finish({})
    assert [part.what for part in find_waste(run)] == ["temporary files"]


def test_checkpoints_stay_where_weights_are_damaged(run: RunDirectory) -> None:
    """A cut or overwritten file is no copy of what was trained, and why they stay is said; without any, nothing is."""
    finish(run)
    assert find_spared(run) == ""
    whole = run.weights.read_bytes()
    for damaged in (b"", b"w", b"\0" * len(whole), whole[:-1], whole + b"x", whole[:20]):
        run.weights.write_bytes(damaged)
        assert find_spared(run) == "damaged"
        assert [part.what for part in find_waste(run)] == ["temporary files"]
    prune(run)
    assert {"step-00000001.safetensors", "step-00000002.safetensors"} <= files(run)
    run.weights.unlink()
    assert find_spared(run) == "gone"
    shutil.rmtree(run.checkpoints)
    assert find_spared(run) == ""


def test_checkpoints_stay_where_weights_are_another_runs(run: RunDirectory) -> None:
    """Its own are nowhere else; where no trial says what is its own, nothing is known against them."""
    finish(run)
    write_whole(run.weights, replace(TRIAL, seed=1))
    assert find_spared(run) == "another run's"
    assert [part.what for part in find_waste(run)] == ["temporary files"]
    (run.path / "trial.json").write_text("{")
    assert find_spared(run) == ""


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_run_in_use_is_never_touched(interrupted: bool, run: RunDirectory) -> None:
    """Its trainer may be writing just now."""
    before = files(run)
    with run.working():
        assert run.held
        assert find_waste(run, interrupted=interrupted) == []
        assert prune(run, interrupted=interrupted) == 0
    assert not run.held
    assert files(run) == before


def test_looking_writes_nothing(tmp_path: Path) -> None:
    """Not even a lock."""
    run = RunDirectory.of(TRIAL, tmp_path)
    run.begin(TRIAL, {"device": "cpu"})
    assert not run.held
    assert find_waste(run) == []
    assert files(run) == {"trial.json", "provenance.json"}
