"""`reslab runs`, with what it says of speed and memory, and `reslab runs prune`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from tests.closed import close
from tests.runs_by_hand import as_task, finish_run

from reslab.cli.terminal.show import console
from reslab.files import lock
from reslab.runs.directory import RunDirectory
from reslab.runs.log import StepLog
from reslab.spec import find, spec_to_dict
from reslab.spec.recipe import find_recipe
from reslab.spec.trial import DataSpec, Trial


@pytest.fixture
def runs(tmp_path: Path) -> tuple[RunDirectory, RunDirectory]:
    """A finished run and an interrupted one, with a checkpoint each."""
    found = []
    for seed in (1, 2):
        data = DataSpec(name="digits", fingerprint="x")
        trial = Trial(data=data, network=find("resnet-20"), recipe=find_recipe("digits"), seed=seed)
        run = RunDirectory.of(trial, tmp_path)
        run.begin(trial, {"device": "cpu", "commit": "", "started": "today", "command": "reslab train"})
        run.checkpoints.mkdir()
        (run.checkpoints / "step-00000001.safetensors").write_bytes(b"x" * 2048)
        found.append(run)
    finished, interrupted = found
    StepLog(finished.path / "timings.jsonl").append(
        {"step": 1, "seconds": 200, "images_per_second": 1234, "peak_memory_bytes": 2**30}
    )
    about = {"spec": spec_to_dict(finished.trial().network), "provenance": {"trial": finished.path.name}}
    save_file({"w": np.zeros(1, np.float32)}, finished.weights, {"reslab": json.dumps(about)})
    finish_run(finished, train_error_percent=1.5, test_error_percent=2.5)
    return finished, interrupted


def test_runs_are_listed_with_speed_and_memory(reslab, runs, tmp_path: Path) -> None:
    """Nothing stands where a run has not come so far."""
    rows = {row["state"]: row for row in json.loads(reslab("runs", "--runs", str(tmp_path), "--json").out)}
    assert (rows["finished"]["seed"], rows["finished"]["test_error_percent"]) == (1, 2.5)
    assert (rows["finished"]["seconds"], rows["finished"]["images_per_second"]) == (200, 1234)
    assert rows["interrupted"]["test_error_percent"] is rows["interrupted"]["seconds"] is None
    shown = reslab("runs", "--runs", str(tmp_path)).out
    assert all(text in shown for text in ("1,234", "1.0 GiB", "3 min", "interrupted"))
    shown = reslab("runs", "show", runs[0].path.name, "--runs", str(tmp_path)).out
    assert "1,234 images/s, 1.0 GiB of memory, 3 min" in shown
    assert "images/s" not in reslab("runs", "show", runs[1].path.name, "--runs", str(tmp_path)).out


def test_runs_stand_in_order_with_what_was_changed_and_their_means(reslab, tmp_path: Path) -> None:
    """By data and network, seeds together; what differs in more than its seed, or is a copy, is no part of a mean."""
    ids = {}
    for data, name, seed, decay, error in (
        ("digits", "resnet-110", 2, "all", 5.0),
        ("digits", "resnet-20", 2, "all", 3.0),
        ("digits", "resnet-20", 1, "all", 2.0),
        ("digits", "resnet-20", 1, "weights", 8.0),
        ("cifar10", "resnet-20", 1, "all", 9.0),
    ):
        recipe = find_recipe("digits", {"optimizer.decay": decay})
        trial = Trial(data=DataSpec(name=data, fingerprint="x"), network=find(name), recipe=recipe, seed=seed)
        run = RunDirectory.of(trial, tmp_path)
        run.begin(trial, {"device": "cpu", "commit": "", "started": "today", "command": "reslab train"})
        finish_run(run, train_error_percent=1.5, test_error_percent=error)
        ids[data, name, seed, decay] = trial.id
    rows = json.loads(reslab("runs", "--runs", str(tmp_path), "--json").out)
    assert [(row["data"], row["label"], row["seed"], row["test_error_percent"]) for row in rows] == [
        ("cifar10", "resnet-20", 1, 9.0),
        ("digits", "resnet-20", 1, 2.0),
        ("digits", "resnet-20", 2, 3.0),
        ("digits", "resnet-20 optimizer.decay=weights", 1, 8.0),
        ("digits", "resnet-110", 2, 5.0),
    ]
    shutil.copytree(tmp_path / ids["digits", "resnet-20", 2, "all"], tmp_path / "copied")
    shown = reslab("runs", "--runs", str(tmp_path)).out
    lines = [line.split("  ")[0].strip() or line.strip() for line in shown.splitlines()]
    at = lines.index(ids["digits", "resnet-20", 2, "all"])
    assert lines[at + 1 : at + 3] == ["mean ± std of 2", ids["digits", "resnet-20", 1, "weights"]]
    assert "2.50 ± 0.71" in shown.splitlines()[at + 1]
    assert lines[at + 3] == "optimizer.decay=weights"
    assert shown.count("mean ±") == 1


@pytest.mark.parametrize("width", [60, 80, 120])
def test_ids_stay_whole_on_narrow_terminals(reslab, runs, tmp_path: Path, monkeypatch, width: int) -> None:
    """Other columns give way, the test error last, and a line says which; lists of waste are alike."""
    monkeypatch.setattr(console, "width", width)
    listed, waste = (reslab(*words, "--runs", str(tmp_path)).out for words in (["runs"], ["runs", "prune"]))
    for run in runs:
        assert any(line.startswith(f"{run.path.name} ") for line in listed.splitlines())
    assert runs[0].path.name in waste
    assert "2.50" in listed and "interrupted" in listed
    assert ("3 min 20 s" in listed) == ("too narrow: time, memory" not in listed) == (width == 120)


def test_errors_go_by_the_names_they_have_elsewhere(reslab, runs, tmp_path: Path) -> None:
    """`compare` says training error too, as the paper does."""
    assert "training error %  test error %" in reslab("runs", "--runs", str(tmp_path)).out
    compared = reslab("compare", *[run.path.name for run in runs], "--runs", str(tmp_path)).out
    assert "test error %" in compared and "training error %" in compared


def test_several_labels_an_image_have_a_column(reslab, runs, tmp_path: Path) -> None:
    """Mean average precision is listed where a run has one, and only then."""
    assert "mAP" not in reslab("runs", "--runs", str(tmp_path)).out
    trial = as_task(runs[1].trial(), "multi-label")
    run = RunDirectory.of(trial, tmp_path)
    run.begin(trial, {"device": "cpu"})
    finish_run(run, train_error_percent=1.5, test_error_percent=2.5, map_percent=87.654)
    shown = reslab("runs", "--runs", str(tmp_path)).out
    assert "mAP %" in shown and "87.65" in shown
    rows = {row["id"]: row for row in json.loads(reslab("runs", "--runs", str(tmp_path), "--json").out)}
    assert [rows[one.path.name]["map_percent"] for one in (run, runs[0])] == [87.654, None]


def test_a_run_being_trained_is_running(reslab, runs, tmp_path: Path) -> None:
    """While its process lives, in the list and alone."""
    with runs[1].working():
        listed = json.loads(reslab("runs", "--runs", str(tmp_path), "--json").out)
        assert {row["id"]: row["state"] for row in listed}[runs[1].path.name] == "running"
        assert "running" in reslab("runs", "show", runs[1].path.name, "--runs", str(tmp_path)).out
    assert runs[1].state == "interrupted"


def test_pruning_asks_first(reslab, runs, tmp_path: Path) -> None:
    """Without --yes it says what would go; with it, what went."""
    finished, interrupted = runs
    shown = reslab("runs", "prune", "--runs", str(tmp_path)).out
    assert "checkpoints of a finished run" in shown
    assert "2.0 KiB to free; --yes removes it" in shown
    assert list(finished.checkpoints.iterdir())
    told = json.loads(reslab("runs", "prune", "--yes", "--runs", str(tmp_path), "--json").out)
    assert (told["removed"], told["bytes"], [row["id"] for row in told["waste"]]) == (True, 2048, [finished.path.name])
    assert not list(finished.checkpoints.iterdir())
    assert list(interrupted.checkpoints.iterdir())
    assert "0 B to free" in reslab("runs", "prune", "--runs", str(tmp_path)).out


def test_a_run_that_diverged_says_so(reslab, runs, tmp_path: Path) -> None:
    """In the list, and with its sentence where it is shown."""
    runs[1].note_divergence("the loss of iteration 7 is not finite")
    rows = json.loads(reslab("runs", "--runs", str(tmp_path), "--json").out)
    assert [row["state"] for row in rows] == ["finished", "diverged"]
    shown = reslab("runs", "show", runs[1].path.name, "--runs", str(tmp_path)).out
    assert "the loss of iteration 7 is not finite" in shown


def test_pruning_interrupted_runs_leaves_living_ones(reslab, runs, tmp_path: Path) -> None:
    """One that is being trained is named and left alone."""
    finished, interrupted = runs
    words = ["runs", "prune", "--interrupted", "--yes", "--runs", str(tmp_path)]
    with interrupted.working():
        assert f"{interrupted.path.name} is in use, so it is not pruned" in reslab(*words).out
    assert interrupted.state == "interrupted"
    shown = reslab(*words).out
    assert "an unfinished run" in shown
    assert "freed" in shown
    assert not interrupted.path.exists()
    assert finished.state == "finished"


def test_a_closed_run_is_told_beside_the_others(reslab, runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It costs nobody else his own, and is not left out as if it were not there."""
    close(runs[0].path, monkeypatch)
    listed = reslab("runs", "--runs", str(tmp_path), "--json")
    states = {row["id"]: row["state"] for row in json.loads(listed.out)}
    assert states[runs[0].path.name] == "damaged"
    assert states[runs[1].path.name] in ("finished", "interrupted")
    assert f"warning: {runs[0].path.name}: {runs[0].path}/" in listed.err
    assert "cannot be read: Permission denied" in listed.err
    assert f"warning: {runs[0].path.name}: " in reslab("report", "--runs", str(tmp_path)).err


def test_pruning_spares_what_weights_can_be_made_from(reslab, runs, tmp_path: Path) -> None:
    """The checkpoints of a finished run whose weights are cut short stay, and a sentence says so."""
    finished, _ = runs
    finished.weights.write_bytes(finished.weights.read_bytes()[:-1])
    outcome = reslab("runs", "prune", "--yes", "--runs", str(tmp_path))
    assert "its weights are damaged, so its checkpoints are kept; train it again first" in outcome.err
    assert list(finished.checkpoints.iterdir())
    told = json.loads(reslab("runs", "prune", "--runs", str(tmp_path), "--json").out)
    assert told["spared"] == {finished.path.name: "damaged"}


def test_pruning_takes_the_locks_of_runs_never_begun(reslab, tmp_path: Path) -> None:
    """A start that was killed leaves a folder that nobody lists; while it lives, it is left alone."""
    bare = RunDirectory(tmp_path / "cifar10" / "resnet-20-cifar10-0123456789ab")
    bare.path.mkdir(parents=True)
    (bare.path / "lock").touch()
    (bare.path / ".trial.json.0123.partial").touch()
    assert "the lock of a run that never started" in reslab("runs", "prune", "--runs", str(tmp_path)).out
    with lock(bare.path / "lock", "held"):
        assert "is in use, so it is not pruned" in reslab("runs", "prune", "--yes", "--runs", str(tmp_path)).out
    assert reslab("runs", "prune", "--yes", "--runs", str(tmp_path)).code == 0
    assert not bare.path.exists()


def test_a_folder_that_is_named_must_be_there(reslab, runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or nobody notices a slip of the pen; the default one need not be there yet."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trial.toml").touch()
    for words in (["runs"], ["runs", "prune"], ["runs", "show", "resnet"]):
        outcome = reslab(*words, "--runs", "nope")
        assert outcome.code == 2
        assert "there is no folder nope; give --runs a folder of runs" in outcome.err
        assert "trial.toml is a file, not a folder for runs" in reslab(*words, "--runs", "trial.toml").err
    outcome = reslab("runs")
    assert outcome.code == 0
    assert "There are no runs in runs" in outcome.out
