"""A trial becomes a run, and a run that was stopped anywhere ends like one never stopped."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from reslab.data.dataset import Dataset, Split
from reslab.data.digits import load_digits
from reslab.errors import UserError
from reslab.experiments.run import run_trial
from reslab.networks import load_model
from reslab.runs.directory import RunDirectory
from reslab.spec import find
from reslab.spec.recipe import Recipe, find_recipe
from reslab.spec.trial import DataSpec, Trial
from reslab.training.loop import Stopped

DIGITS = load_digits()
SMALL = {"channels": 1, "input_size": 8, "dropout": 0.1, "stochastic_depth": 0.1}
OPTIONS = {"iterations": 24, "batch": 32, "evaluate_every": 8}

KILLED = """
import sys, os
from pathlib import Path
from tests.experiments.test_run import DIGITS, make_trial
from reslab.experiments.run import run_trial
import torch
torch.set_num_threads(1)
run_trial(make_trial(), DIGITS, Path(sys.argv[1]), progress=lambda step, metrics: print(step, flush=True))
"""


def make_trial(recipe: Recipe | None = None, name: str = "cifar-resnet-8", **network: object) -> Trial:
    """A trial of a second or two, with everything random in it."""
    return Trial(
        data=DataSpec(name="digits", fingerprint=DIGITS.fingerprint),
        network=find(name, SMALL | network),
        recipe=recipe or find_recipe("digits", OPTIONS),
        seed=3,
    )


def outcome(run: RunDirectory) -> tuple[str, str, str]:
    """Digests of what must not depend on how the run came about: weights, metric log, result."""
    files = ("weights.safetensors", "metrics.jsonl", "result.json")
    digests = [hashlib.sha256((run.path / name).read_bytes()).hexdigest() for name in files]
    return digests[0], digests[1], digests[2]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, str]:
    """The outcome of the trial, never stopped."""
    torch.set_num_threads(1)
    return outcome(run_trial(make_trial(), DIGITS, tmp_path_factory.mktemp("whole")))


def test_a_run_is_recorded(tmp_path: Path) -> None:
    """Trial, provenance, metrics, timings, weights and result; training lowers the error."""
    run = run_trial(make_trial(find_recipe("digits", OPTIONS | {"iterations": 80}), dropout=0.0), DIGITS, tmp_path)
    assert run.state == "finished"
    assert run.trial().id == run.path.name
    names = {path.name for path in run.path.iterdir()} - {"lock", "checkpoints", "tensorboard"}
    logs, files = {"metrics.jsonl", "timings.jsonl"}, {"trial.json", "provenance.json", "result.json"}
    assert names == logs | files | {"weights.safetensors"}
    result = run.result()
    assert result["error_percent"] < 40
    assert sum(map(sum, result["confusion"])) == len(DIGITS.test)
    network = load_model(run.weights)
    assert network.class_names == tuple("0123456789")
    sitting = run.read("provenance")["sittings"][0]
    assert sitting["versions"]["torch"]
    timings = [json.loads(line) for line in (run.path / "timings.jsonl").read_text().splitlines()]
    assert all(entry["peak_memory_bytes"] > 0 and entry["images_per_second"] > 0 for entry in timings)


def test_the_same_seed_is_the_same_log(whole: tuple[str, str, str], tmp_path: Path) -> None:
    """Bit for bit."""
    assert outcome(run_trial(make_trial(), DIGITS, tmp_path)) == whole
    other = run_trial(replace(make_trial(), seed=4), DIGITS, tmp_path)
    assert outcome(other)[1] != whole[1]


def test_streamed_data_is_the_same_run(
    whole: tuple[str, str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the images lie changes nothing."""
    monkeypatch.setenv("RESLAB_BATCHES", "streamed")
    assert outcome(run_trial(make_trial(), DIGITS, tmp_path)) == whole


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"average_decay": 0.9},
        {"accumulate": 2, "label_smoothing": 0.1, "optimizer.clip_norm": 1.0},
        {"precision": "fp32", "channels_last": False, "schedule.kind": "cosine", "exact_norms": True},
        {"warmup": {"learning_rate": 0.01, "until_error_percent": 95.0, "window": 5}},
    ],
    ids=str,
)
def test_a_run_stopped_at_every_step_ends_the_same(options: dict[str, object], tmp_path: Path) -> None:
    """Asked to stop after each iteration, and resumed each time: weights, log and result to the bit."""
    trial = make_trial(find_recipe("digits", OPTIONS | options))
    expected = outcome(run_trial(trial, DIGITS, tmp_path / "whole"))
    sittings = 0
    while RunDirectory.of(trial, tmp_path).state != "finished":
        sittings += 1
        try:
            run_trial(trial, DIGITS, tmp_path, should_stop=lambda: True)
        except Stopped:
            assert RunDirectory.of(trial, tmp_path).state == "interrupted"
    assert sittings == trial.recipe.iterations
    assert outcome(RunDirectory.of(trial, tmp_path)) == expected


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_killed_run_ends_the_same(seed: int, whole: tuple[str, str, str], tmp_path: Path) -> None:
    """SIGKILL at random moments, a chain of them, then left alone: the same outcome."""
    chance = random.Random(seed)
    run = RunDirectory.of(make_trial(), tmp_path)
    root = Path(__file__).parent.parent.parent
    for kill in (True, True, True, False):
        words = [sys.executable, "-c", KILLED, str(tmp_path)]
        with subprocess.Popen(words, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            assert process.stdout is not None
            if kill:
                for _ in range(chance.randrange(1, 8)):
                    process.stdout.readline()
                time.sleep(chance.random() * 0.03)
                os.kill(process.pid, signal.SIGKILL)
            process.stdout.read()
    assert run.state == "finished"
    assert outcome(run) == whole


def test_a_finished_run_is_not_run_again(tmp_path: Path) -> None:
    """Its files are left alone."""
    run = run_trial(make_trial(), DIGITS, tmp_path)
    before = (run.path / "provenance.json").stat().st_mtime_ns
    run_trial(make_trial(), DIGITS, tmp_path, progress=lambda step, metrics: pytest.fail("it trained"))
    assert (run.path / "provenance.json").stat().st_mtime_ns == before


def test_a_second_trainer_is_refused(tmp_path: Path) -> None:
    """While one holds the run; a dead one's hold is gone."""
    run = RunDirectory.of(make_trial(), tmp_path)
    with run.working(), pytest.raises(UserError, match="another process is working on"):
        run_trial(make_trial(), DIGITS, tmp_path)
    assert run_trial(make_trial(), DIGITS, tmp_path).state == "finished"


def test_a_loss_that_is_not_finite_stops_the_run(tmp_path: Path) -> None:
    """The step and its images are named, and the last good checkpoint stays."""
    recipe = find_recipe("digits", OPTIONS | {"optimizer.learning_rate": 1e30, "precision": "fp32"})
    trial = make_trial(recipe, norm="none")
    with pytest.raises(UserError, match=r"the loss of iteration \d+ is (nan|inf), on images \d+, \d+"):
        run_trial(trial, DIGITS, tmp_path)
    assert RunDirectory.of(trial, tmp_path).state == "interrupted"


def test_a_damaged_checkpoint_is_named_and_the_run_ends_the_same(whole: tuple[str, str, str], tmp_path: Path) -> None:
    """The newest one flipped: the previous is used, and nothing else changes."""
    steps: list[int] = []

    def after_twenty() -> bool:
        return bool(steps) and steps[-1] == 20

    with pytest.raises(Stopped):
        run_trial(make_trial(), DIGITS, tmp_path, progress=lambda step, _: steps.append(step), should_stop=after_twenty)
    run = RunDirectory.of(make_trial(), tmp_path)
    newest = sorted(run.checkpoints.iterdir())[-1]
    content = bytearray(newest.read_bytes())
    content[-3] ^= 1
    newest.write_bytes(content)
    warnings: list[str] = []
    assert outcome(run_trial(make_trial(), DIGITS, tmp_path, warn=warnings.append)) == whole
    assert newest.name in warnings[0]


def test_exact_norms_are_the_averages_over_the_training_images(tmp_path: Path) -> None:
    """The stem's statistics equal those of its responses to every training image."""
    recipe = find_recipe("digits", OPTIONS | {"exact_norms": True, "precision": "fp32"})
    run = run_trial(make_trial(recipe, dropout=0.0, stochastic_depth=0.0), DIGITS, tmp_path)
    network = load_model(run.weights)
    images = DIGITS.train.images / 16
    x = torch.from_numpy(images - images.mean(0)).float()
    response = network.get_submodule("stem.conv")(x)
    assert torch.allclose(network.get_buffer("stem.norm.running_mean"), response.mean((0, 2, 3)), atol=1e-3)
    result = run.result()
    assert result["test_error_percent"] == result["error_percent"]
    assert result["test_loss"] == result["loss"]
    logged = [json.loads(line) for line in (run.path / "metrics.jsonl").read_text().splitlines()]
    assert logged[-1]["test_loss"] != result["test_loss"]
    assert logged[-1]["images"] == OPTIONS["iterations"] * OPTIONS["batch"]


def test_tuning_holds_training_images_back(tmp_path: Path) -> None:
    """The last tenth stands in for the test set, which is not looked at."""
    trial = make_trial(dropout=0.0)
    trial = replace(trial, data=replace(trial.data, split="tuning"))
    blind = replace(DIGITS, test=Split(DIGITS.test.images[:0], np.empty(0, dtype=np.uint8)))
    assert isinstance(blind, Dataset)
    result = run_trial(trial, blind, tmp_path).result()
    assert sum(map(sum, result["confusion"])) == len(DIGITS.train) // 10
