"""`reslab train` and `runs`, end to end."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.photographs import make_photos
from tests.trials import PHOTO_FIELDS

from reslab.cli.terminal import show
from reslab.runs.directory import RunDirectory, list_runs
from reslab.runtime.processes import Processes

SHORT = ["recipe.iterations=12", "recipe.batch=16", "recipe.evaluate_every=6"]


def test_train_and_look_at_the_run(reslab, tmp_path: Path) -> None:
    """One command trains; the next says it is finished; runs lists and shows it."""
    words = ["train", "network=cifar-resnet-8", *SHORT, "seed=2", "--runs", str(tmp_path)]
    first = reslab(*words)
    assert first.code == 0, first.err
    assert "new run" in first.out
    assert "weights.safetensors" in first.out.replace("\n", "")
    assert "is finished" in reslab(*words).out
    (listed,) = json.loads(reslab("runs", "--runs", str(tmp_path), "--json").out)
    assert listed["state"] == "finished"
    assert "seed 2" in reslab("runs", "show", "cifar-resnet-8", "--runs", str(tmp_path)).out
    shown = json.loads(reslab("runs", "show", listed["id"], "--runs", str(tmp_path), "--json").out)
    assert shown["trial"]["network"]["channels"] == 1
    assert shown["result"]["step"] == 12


def test_a_start_that_fails_leaves_no_folder(reslab, tmp_path: Path) -> None:
    """What is refused once the run is held leaves nothing that nobody lists."""
    words = ["train", "network=cifar-resnet-8", *SHORT, "recipe.freeze=conv9", "--runs", str(tmp_path)]
    outcome = reslab(*words)
    assert outcome.code == 2
    assert "conv9" in outcome.err
    assert not list(tmp_path.iterdir())


def test_a_run_that_another_trains_is_refused_at_once(reslab, tmp_path: Path, monkeypatch) -> None:
    """Nothing is timed beside it or printed; a dry run needs nobody's leave."""
    words = ["train", "network=cifar-resnet-8", *SHORT, "--runs", str(tmp_path)]
    name = reslab(*words, "--dry-run").out.splitlines()[0].removeprefix("# ")
    with RunDirectory(tmp_path / name).working():
        assert reslab(*words, "--dry-run").code == 0
        monkeypatch.setattr("reslab.experiments.estimate.measure_speed", lambda *_, **__: pytest.fail("it was timed"))
        outcome = reslab(*words)
    assert (outcome.code, outcome.out) == (2, "")
    assert f"another process is working on {tmp_path / name}; wait for it or stop it" in outcome.err


def test_a_finished_run_without_its_weights_is_mended(reslab, run: Path) -> None:
    """By the command that made it, which says so; then it can be evaluated again."""
    words = ["train", "network=cifar-resnet-8", *SHORT, "--runs", str(run.parent)]
    assert "is finished" in reslab(*words).out
    (run / "weights.safetensors").unlink()
    assert "train it again" in reslab("evaluate", str(run)).err
    outcome = reslab(*words)
    assert outcome.code == 0, outcome.err
    assert f"damaged run {run}" in outcome.out
    assert "its weights are gone; restoring them from its last checkpoint" in outcome.err
    assert reslab("evaluate", str(run)).code == 0
    assert "is finished" in reslab(*words).out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "write network=resnet-20"),
        (["resnet-20"], "write network=resnet-20"),
        (["a.toml", "resnet-20"], "train takes field=value pairs or TOML files, not 'resnet-20'"),
        (["none.toml"], "cannot read none.toml"),
        (["network=resnet-20", "recipe=none.toml"], "cannot read none.toml"),
        (["network=resnet-20", "lr=3"], "a trial has no field 'lr'; write recipe.optimizer.learning_rate="),
        (["network=resnet-20", "--epochs", "3"], "there is no option --epochs; write recipe.epochs="),
        (["network=resnet-20", "--batch-size=3"], "there is no option --batch-size; write recipe.batch="),
        (["network=resnet-20", "--seed", "3"], "there is no option --seed; write seed="),
        (["network"], "not 'network'; write network=..."),
        (["network=resnet-20", "seed"], "not 'seed'; write seed=..."),
        (["network=resnet-20", "recipe.lr=3"], "no field 'recipe.lr'; write recipe.optimizer.learning_rate="),
        (["network=resnet-20", "--epoch", "3"], "there is no option --epoch; --help lists the options"),
        (["network=resnet-20", "recipe.lr=3"], "there is no field 'recipe.lr'"),
        (["network=resnet-20", "seed=x"], "seed is 'x'"),
        (["network=resnet-20", "data=cifar11"], "did you mean 'cifar10'"),
        (["network=resnet-20", "data=cifar10"], "fetch it with `reslab data fetch cifar10`"),
        (["network=vit-b-16"], "patches of 16"),
        (["network=resnet-20", "network.classes=12"], "has 12 outputs, but digits has 10 classes"),
        (["network=resnet-20", "network.channels=3"], "digits has images of 1 channel"),
        (["network=resnet-20", "network.dimensions=1"], "digits has images of 1 channel"),
        (["network=resnet-20", "data.split=half"], "choose full or tuning"),
        (["network=resnet-20", "recipe.batch=16", "--processes", "3"], "which 3 processes cannot share evenly"),
        (["network=resnet-20", "--processes", "0"], "--processes is 0"),
        (["network=resnet-20", "data.name=x"], "data.name cannot be set, because the data determines it"),
        (
            ["network=resnet-20", "recipe.resizing.initial=0.5", "--dry-run"],
            "0.5, which is only for photographs",
        ),
    ],
)
def test_mistakes_end_in_one_sentence(words: list[str], sentence: str, reslab, tmp_path: Path, monkeypatch) -> None:
    """Exit code 2, one line, and no run is begun."""
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path / "data"))
    outcome = reslab("train", *words, "--runs", str(tmp_path / "runs"))
    assert outcome.code == 2
    assert sentence in outcome.err
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").glob("*/result.json"))


def test_the_default_data_is_named(reslab, tmp_path: Path) -> None:
    """Who left it out may have meant other images."""
    words = ["train", "network=cifar-resnet-8", *SHORT, "--runs", str(tmp_path), "--dry-run"]
    assert "no data= given: training on digits" in reslab(*words).err
    assert "no data=" not in reslab(*words, "data=digits").err


def test_the_default_network_is_named(reslab, tmp_path: Path) -> None:
    """Who left it out may have meant another; a bare folder is hinted at."""
    photos = make_photos(tmp_path / "photos", train=4, val=1)
    words = ["train", f"data={photos}", "network.input_size=32", "recipe.batch=4", "--runs", str(tmp_path), "--dry-run"]
    assert "no network= given: training resnet-18 on 32 x 32 pixels" in reslab(*words).err
    assert f"write data={photos}" in reslab("train", str(photos)).err


def test_a_saved_trial_and_its_place_are_checked_before_timing(
    reslab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights for a trial that starts from scratch, in a dry run too; a folder for runs that is a file."""
    words = ["network=cifar-resnet-8", *SHORT, "--runs", str(tmp_path / "runs")]
    (tmp_path / "trial.toml").write_text(reslab("train", *words, "--dry-run").out)
    monkeypatch.setattr("reslab.experiments.estimate.measure_speed", None)
    saved = ["train", str(tmp_path / "trial.toml"), "--runs"]
    for dry in ([], ["--dry-run"]):
        started = reslab(*saved, str(tmp_path / "runs"), "weights=cifar10", *dry)
        assert "this trial starts from random weights, so weights=cifar10 cannot be used" in started.err
    closed = reslab(*saved, str(tmp_path / "trial.toml"))
    assert closed.code == 2
    assert "trial.toml is a file, not a folder for runs; give --runs a folder" in closed.err


def test_what_is_hardly_meant_is_a_warning(reslab, tmp_path: Path) -> None:
    """Frozen weights that nobody trained; in a dry run too."""
    words = ["network=cifar-resnet-8", *SHORT, "--runs", str(tmp_path), "--dry-run"]
    assert "warning" not in reslab("train", *words).err
    doubted = reslab("train", *words, "recipe.freeze=body")
    assert doubted.code == 0
    assert "warning: recipe.freeze without weights= freezes random weights" in doubted.err


def test_a_dry_run_prints_a_trial_that_can_be_run(reslab, tmp_path: Path) -> None:
    """Valid TOML with what it would need as comments; nothing is trained; the file gives the same run."""
    words = ["network=cifar-resnet-8", *SHORT, "recipe.warmup.window=5", "--runs", str(tmp_path / "runs")]
    (tmp_path / "warm.toml").write_text("base = 'digits'\n[warmup]\nlearning_rate = 0.01\n")
    dry = reslab("train", *words, f"recipe={tmp_path / 'warm.toml'}", "--dry-run")
    assert dry.code == 0, dry.err
    assert not (tmp_path / "runs").exists()
    comments = [line for line in dry.out.splitlines() if line.startswith("#")]
    assert "12 iterations of 16 images" in comments[1]
    assert "of memory" in comments[2]
    assert "of disk" in comments[2]
    (tmp_path / "trial.toml").write_text(dry.out)
    assert tomllib.loads(dry.out)["recipe"]["warmup"]["window"] == 5
    trained = reslab("train", str(tmp_path / "trial.toml"), "--runs", str(tmp_path / "runs"))
    assert trained.code == 0, trained.err
    assert comments[0].removeprefix("# ") in trained.out
    assert "12 iterations of 16 images" in trained.out


def test_a_dry_run_counts_its_processes(reslab) -> None:
    """The epochs are those of the batches they share."""
    words = ["train", "network=cifar-resnet-8", *SHORT, "--dry-run"]
    alone, shared = reslab(*words).out, reslab(*words, "--processes", "2").out
    line = next(line for line in alone.splitlines() if "iterations of" in line)
    assert line.replace("), seed", ") in 2 processes, seed") in shared.splitlines()


@pytest.mark.parametrize("batch", [16, 2])
def test_processes_that_a_launcher_started_are_counted_first(
    batch: int, reslab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch that they cannot share is refused as it is, before anything is reckoned with a share of it."""
    three = contextlib.nullcontext(Processes(rank=0, count=3))
    monkeypatch.setattr("reslab.runtime.processes.joined", lambda: three)
    words = ["train", "network=cifar-resnet-8", "recipe.iterations=1", f"recipe.batch={batch}"]
    outcome = reslab(*words, "--runs", str(tmp_path / "runs"))
    assert outcome.code == 2
    assert f"recipe.batch is {batch}, which 3 processes cannot share evenly; choose a multiple of 3" in outcome.err
    assert outcome.out == ""


def test_the_first_of_several_processes_prints_the_plan(reslab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others keep quiet, or it would stand there once for each."""
    for console in (show.console, show.progress_console):
        monkeypatch.setattr(console, "quiet", False)
    for rank in (0, 1):
        group = contextlib.nullcontext(Processes(rank=rank, count=2))
        monkeypatch.setattr("reslab.runtime.processes.joined", lambda group=group: group)
        outcome = reslab("train", "network=cifar-resnet-8", *SHORT, "--dry-run")
        assert outcome.code == 0, outcome.err
        assert outcome.out.count("[network]") == (rank == 0)


def test_a_folder_of_photographs_is_data(reslab, tmp_path: Path) -> None:
    """A path is data; the run is named after the folder; a folder that is not there is told."""
    photos = make_photos(tmp_path / "photos", train=12, val=4)
    words = [f"{name}={value}" for name, value in (PHOTO_FIELDS | {"recipe.iterations": "30"}).items()]
    assert "test 0.00 % error" in reslab("train", f"data={photos}", *words, "--runs", str(tmp_path / "runs")).out
    (found,) = list_runs(tmp_path / "runs")
    assert found.path.name.startswith("cifar-resnet-8-photos-")
    outcome = reslab("train", f"data={tmp_path}/nowhere", "network=resnet-20")
    assert outcome.code
    assert "is neither a dataset nor a folder of photographs" in outcome.err


@pytest.mark.parametrize("more", [[], ["--seeds", "2"]])
def test_weights_are_kept_along_the_way(more: list[str], reslab, tmp_path: Path) -> None:
    """Of one and of several, without a word in the trial; what is no part of the run is refused before it."""
    words = ["train", "network=cifar-resnet-8", *SHORT, *more, "--runs", str(tmp_path)]
    refused = reslab(*words, "--snapshots", "0.5,13.0")
    assert (refused.code, list(tmp_path.iterdir())) == (2, [])
    assert "snapshots are '0.5,13.0'; give steps from 0 to 12" in refused.err
    assert reslab(*words, "--snapshots", "3,6").code == 0
    for run in tmp_path.iterdir():
        assert [RunDirectory(run).snapshot(step).exists() for step in (3, 6, 12)] == [True, True, False]
        assert "snapshots" not in (run / "trial.json").read_text()


def test_a_finished_run_says_which_snapshots_it_lacks(reslab, tmp_path: Path) -> None:
    """Those it has are no news."""
    words = ["train", "network=cifar-resnet-8", *SHORT, "--runs", str(tmp_path), "--snapshots"]
    assert reslab(*words, "3,6").code == 0
    assert "the run is finished, but has no snapshots of 9, 12; train it again" in reslab(*words, "3,9,12").err
    assert "snapshots" not in reslab(*words, "3,6").err


def test_a_trials_file_takes_epochs_too(reslab, tmp_path: Path) -> None:
    """Of the images of its data."""
    words = ["train", "network=cifar-resnet-8", *SHORT, "--dry-run"]
    (tmp_path / "trial.toml").write_text(reslab(*words).out)
    outcome = reslab("train", str(tmp_path / "trial.toml"), "recipe.epochs=2", "--dry-run")
    assert "(2.0 epochs)" in outcome.out, outcome.err


def test_other_data_than_the_files_is_refused(reslab, tmp_path: Path) -> None:
    """A trial names its data by content."""
    words = ["train", "network=cifar-resnet-8", *SHORT, "--dry-run"]
    text = reslab(*words).out
    (tmp_path / "trial.toml").write_text(text.replace('fingerprint = "', 'fingerprint = "0'))
    assert "digits is not the data that" in reslab("train", str(tmp_path / "trial.toml")).err


def test_a_full_disk_refuses_the_run(reslab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is written."""
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1000))
    outcome = reslab("train", "network=cifar-resnet-8", *SHORT, "--runs", str(tmp_path / "runs"))
    assert outcome.code == 2
    assert "of disk space, but 1000 B are free" in outcome.err
    assert not (tmp_path / "runs").exists()


def test_a_signal_saves_and_ends_with_its_code(tmp_path: Path) -> None:
    """SIGTERM gives 143; the same command then finishes the run."""
    words = [sys.executable, "-m", "reslab", "train", "network=cifar-resnet-8", "recipe.iterations=3000"]
    words += ["recipe.batch=16", "recipe.evaluate_every=1000", "--runs", str(tmp_path)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert "new run" in process.stdout.readline()
    process.stdout.readline()
    while not list(tmp_path.glob("*/trial.json")):
        assert process.poll() is None
    os.kill(process.pid, signal.SIGTERM)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 143, errors
    assert "stopped and saved" in errors
    assert list(tmp_path.glob("*/checkpoints/step-*.safetensors"))


def test_unknown_runs_are_told(reslab, tmp_path: Path) -> None:
    """With the folder that was searched."""
    assert "there is no run 'x'" in reslab("runs", "show", "x", "--runs", str(tmp_path)).err
    assert "There are no runs" in reslab("runs", "--runs", str(tmp_path)).out
