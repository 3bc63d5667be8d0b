"""`reslab train` and `runs`, end to end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "write network=resnet-20"),
        (["resnet-20"], "write network=resnet-20"),
        (["network=resnet-20", "lr=3"], "knows no field 'lr'"),
        (["network=resnet-20", "recipe.lr=3"], "there is no field 'lr'"),
        (["network=resnet-20", "seed=x"], "seed is 'x'"),
        (["network=resnet-20", "data=cifar11"], "did you mean 'cifar10'"),
        (["network=resnet-20", "data=cifar10"], "fetch it with `reslab data fetch cifar10`"),
        (["network=vit-b-16"], "patches of 16"),
    ],
)
def test_mistakes_end_in_one_sentence(words: list[str], sentence: str, reslab, tmp_path: Path, monkeypatch) -> None:
    """Exit code 2, one line, and no run is begun."""
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path / "data"))
    outcome = reslab("train", *words, "--runs", str(tmp_path / "runs"))
    assert outcome.code == 2
    assert sentence in outcome.err
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").glob("*/result.json"))


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
    assert "state is saved" in errors
    assert list(tmp_path.glob("*/checkpoints/step-*.safetensors"))


def test_unknown_runs_are_told(reslab, tmp_path: Path) -> None:
    """With the folder that was searched."""
    assert "there is no run 'x'" in reslab("runs", "show", "x", "--runs", str(tmp_path)).err
    assert "There are no runs" in reslab("runs", "--runs", str(tmp_path)).out
