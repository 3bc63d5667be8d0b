"""`reslab train --processes 2` and torchrun, end to end: stopped, killed, silenced; nothing is left behind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.photographs import make_photos
from tests.processes import run_in_processes
from tests.trials import DIGITS, outcome

from reslab.cli.train.launcher import _start
from reslab.experiments.run import run_trial
from reslab.experiments.trials import read_trial
from reslab.runs.directory import RunDirectory, list_runs
from reslab.runtime.processes import Processes

WORDS = ["train", "network=cifar-resnet-8", "recipe.batch=16", "recipe.evaluate_every=20", "seed=4"]
LONG = [*WORDS, "recipe.iterations=20000"]
SHORT = [*WORDS, "recipe.iterations=240", "network.dropout=0.1"]
OURS = [sys.executable, "-m", "reslab"]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "--max-restarts=2"]
SECONDS = 100.0

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Started:
    """A launcher at work, and where its runs are."""

    launcher: subprocess.Popen[str]
    root: Path

    def workers(self) -> dict[int, int]:
        """The processes that train, by rank."""
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = dict(word.split("=", 1) for word in (folder / "environ").read_text().split("\0") if "=" in word)
                if words.get("RESLAB_RUNS") == str(self.root) and "RANK" in words:
                    found[int(words["RANK"])] = int(folder.name)
        return found

    def run(self) -> RunDirectory | None:
        """The run, once it is there."""
        return next(iter(list_runs(self.root)), None)

    def reach(self, step: int) -> None:
        """Wait for a checkpoint of `step` or later."""
        until(lambda: self.step() >= step or self.launcher.poll() is not None)
        assert self.launcher.poll() is None, self.launcher.communicate()

    def step(self) -> int:
        """The step of the newest checkpoint."""
        return max((int(path.stem[5:]) for path in self.root.glob("*/checkpoints/step-*.safetensors")), default=0)

    def end(self) -> tuple[int, str]:
        """Wait for the end; return the exit code and what was said. Nobody may be left."""
        _, said = self.launcher.communicate(timeout=SECONDS)
        until(lambda: not self.workers())
        return self.launcher.returncode, said


def until(condition: Callable[[], bool]) -> None:
    """Wait for something to become true."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.05)


@contextlib.contextmanager
def start(words: list[str], root: Path, **variables: str) -> Iterator[Started]:
    """Start a command in an environment of its own; whatever happens, end it."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "RESLAB_RUNS": str(root), "CUDA_VISIBLE_DEVICES": ""}
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, env=environment | variables, **pipes) as launcher:
        started = Started(launcher, root)
        try:
            yield started
        finally:
            for pid in (launcher.pid, *started.workers().values()):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def test_each_is_told_how_many_share_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By torchrun's names: among them the cores of this machine are divided."""
    told = []
    monkeypatch.setattr(subprocess, "Popen", lambda words, *, env, **more: told.append(env))
    for rank in range(2):
        _start(["train"], rank, 2, tmp_path)
    names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")
    assert [[environment[name] for name in names] for environment in told] == [
        ["0", "0", "2", "2"],
        ["1", "1", "2", "2"],
    ]


def test_signals_save_and_all_end_with_their_code(tmp_path: Path) -> None:
    """Sent to the launcher; the same command goes on from where it stopped."""
    step, run = 0, None
    for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
        with start([*OURS, *LONG, "--processes", "2"], tmp_path) as started:
            started.reach(step + 1)
            started.launcher.send_signal(number)
            ended, said = started.end()
        assert ended == code, said
        assert "stopped and saved" in said
        run = started.run()
        assert run is not None
        assert run.state == "interrupted"
        assert started.step() > step
        step = started.step()
    assert run is not None
    logged = [json.loads(line)["step"] for line in (run.path / "metrics.jsonl").read_text().splitlines()]
    assert logged == list(range(20, step + 1, 20))
    assert len(run.read("provenance")["sittings"]) == 2


@pytest.mark.parametrize("rank", [0, 1])
def test_a_stopped_process_is_not_waited_for_forever(rank: int, tmp_path: Path) -> None:
    """SIGSTOP: the other says so after the timeout, and the stopped one is ended too."""
    with start([*OURS, *LONG, "--processes", "2"], tmp_path, RESLAB_TIMEOUT="3") as started:
        started.reach(20)
        os.kill(started.workers()[rank], signal.SIGSTOP)
        code, said = started.end()
    assert code == 2
    assert said.count(f"another of the 2 processes did not answer for 3 seconds (this is process {1 - rank})") == 1


def test_without_a_launcher_the_processes_stop(tmp_path: Path) -> None:
    """It is killed; they save what they have, as if asked to."""
    with start([*OURS, *LONG, "--processes", "2"], tmp_path) as started:
        started.reach(20)
        started.launcher.kill()
        until(lambda: not started.workers())
    run = started.run()
    assert run is not None
    assert run.state == "interrupted"
    logged = (run.path / "metrics.jsonl").read_text().splitlines()
    assert started.step() >= 20 * len(logged), "what it came to was saved"


def train_undisturbed(processes: Processes, root: Path) -> tuple[str, str, str]:
    trial = read_trial(dict(word.split("=") for word in SHORT[1:]), DIGITS)
    return outcome(run_trial(trial, DIGITS, root, processes=processes))


def test_killed_processes_are_started_again_by_torchrun(tmp_path: Path) -> None:
    """First the second one, then the first: all go on from the newest checkpoint, to the same bits."""
    with start([*TORCHRUN, "-m", "reslab", *SHORT], tmp_path / "runs") as started:
        for rank, step in ((1, 20), (0, 60)):
            started.reach(step)
            os.kill(started.workers()[rank], signal.SIGKILL)
        code, said = started.end()
    assert code == 0, said
    (run,) = list_runs(tmp_path / "runs")
    assert len(run.read("provenance")["sittings"]) == 3
    assert [outcome(run)] * 2 == run_in_processes(train_undisturbed, 2, tmp_path / "whole")


def test_a_killed_process_ends_the_others(tmp_path: Path) -> None:
    """Ours does not start them again; the same command does."""
    with start([*OURS, *LONG, "--processes", "2"], tmp_path) as started:
        started.reach(20)
        os.kill(started.workers()[1], signal.SIGKILL)
        code, said = started.end()
    assert code == 2
    assert "process 1 of 2 was ended by SIGKILL; run the same command" in said


@pytest.mark.parametrize("launcher", [OURS, [*TORCHRUN[:-1], "-m", "reslab"]], ids=["ours", "torchrun"])
def test_a_bad_image_is_named_whoever_meets_it(launcher: list[str], tmp_path: Path) -> None:
    """The second process tests the last images; the first says what that one found, not that it is gone."""
    bad = make_photos(tmp_path / "photos") / "val" / "greens" / "002.jpg"
    bad.write_bytes(b"")
    words = [
        "train",
        "network=cifar-resnet-8",
        "network.input_size=24",
        f"data={tmp_path / 'photos'}",
        "recipe.batch=8",
    ]
    shared = ["--processes", "2"] if launcher is OURS else []
    with start([*launcher, *words, "recipe.iterations=1", *shared], tmp_path / "runs") as started:
        code, said = started.end()
    assert code == (2 if launcher is OURS else 1)
    times = said.count(f"reslab: {bad} is ")
    assert times == 1 or (times == 2 and launcher is not OURS), said  # torchrun may end the first before it speaks
    assert "is gone" not in said
