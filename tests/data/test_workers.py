"""Processes that work ahead: how many there are, and how they end."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from tests.photographs import make_photos

from reslab.data.photos.crops import Decoded, TrainingCrops
from reslab.data.photos.folder import read_folder
from reslab.data.photos.order import PhotoSampler
from reslab.data.workers import _main_unseen, count_workers, work_ahead
from reslab.errors import UserError
from reslab.spec.augmentation import AugmentationSpec

CROPS = AugmentationSpec(crop="resized", colour=0.1)

ENDLESS = """
import itertools, sys, time
from pathlib import Path
from reslab.data.photos.folder import read_folder
from reslab.data.photos.crops import TrainingCrops
from reslab.data.workers import work_ahead
from reslab.data.photos.order import PhotoSampler
from reslab.spec.augmentation import AugmentationSpec

split = read_folder(Path(sys.argv[1])).train
crops = TrainingCrops(split, AugmentationSpec(crop="resized"), seed=5)
sampler = PhotoSampler(count=len(split), seed=5)
stream = work_ahead(crops, ((24, sampler.draw(step, 4)) for step in itertools.count()), workers=1)
next(stream)
print("begun", flush=True)
time.sleep(100)
"""


def begin_with_worker(tmp_path: Path) -> tuple[Iterator[Decoded], int]:
    """Return a stream of batches whose first was taken, and the process that makes them."""
    split = read_folder(make_photos(tmp_path)).train
    sampler = PhotoSampler(count=len(split), seed=5)
    crops = TrainingCrops(split, CROPS, seed=5)
    stream = work_ahead(crops, ((24, sampler.draw(step, 4)) for step in itertools.count()), workers=1)
    next(stream)
    (worker,) = torch.multiprocessing.active_children()
    assert worker.pid is not None
    return stream, worker.pid


@pytest.mark.slow
def test_a_killed_worker_is_told(tmp_path: Path) -> None:
    """In one sentence, and nothing hangs."""
    stream, worker = begin_with_worker(tmp_path)
    os.kill(worker, signal.SIGKILL)
    with pytest.raises(UserError, match="a process that decodes images was killed"):
        for _ in range(20):
            next(stream)


@pytest.mark.slow
def test_workers_leave_ctrl_c_to_whom_they_work_for(tmp_path: Path) -> None:
    """A terminal sends it to all; the run is to save its state, for which it may need a batch more."""
    stream, worker = begin_with_worker(tmp_path)
    os.kill(worker, signal.SIGINT)
    assert len([next(stream) for _ in range(8)]) == 8
    assert [child.pid for child in torch.multiprocessing.active_children()] == [worker]


@pytest.mark.slow
def test_workers_end_with_a_run_that_is_killed(tmp_path: Path) -> None:
    """They and the server they come from: what they were to print to is closed by all. Scripts need no guard."""
    make_photos(tmp_path / "photos")
    (tmp_path / "endless.py").write_text(ENDLESS)
    command = [sys.executable, str(tmp_path / "endless.py"), str(tmp_path / "photos")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as run:
        assert run.stdout is not None and run.stdout.readline() == b"begun\n"
        run.kill()
        assert run.communicate(timeout=30)[0] == b""


def test_trials_that_start_workers_at_once_leave_the_script_in_its_place() -> None:
    """The second waits for the first, whose script is back before: else what it puts back is the first's stand-in."""
    script, seen = sys.modules["__main__"], []
    entered, leave = threading.Event(), threading.Event()

    def start() -> None:
        with _main_unseen():
            seen.append(sys.modules["__main__"])
            entered.set()
            leave.wait(10)

    other = threading.Thread(target=start)
    with _main_unseen():
        stand_in = sys.modules["__main__"]
        other.start()
        assert not entered.wait(0.2)
        assert sys.modules["__main__"] is stand_in is not script
    assert entered.wait(10)
    leave.set()
    other.join()
    assert sys.modules["__main__"] is script
    assert seen[0] not in (script, stand_in)


def test_how_many_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """One beside the CPU, unless one says otherwise."""
    monkeypatch.delenv("RESLAB_WORKERS", raising=False)
    assert count_workers("cpu") == 1
    monkeypatch.setenv("RESLAB_WORKERS", "3")
    assert count_workers("cpu") == 3
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "8")
    assert count_workers("cuda") == 3
    monkeypatch.setenv("RESLAB_WORKERS", "many")
    with pytest.raises(UserError, match="RESLAB_WORKERS is 'many'; give a whole number"):
        count_workers("cpu")


@pytest.mark.parametrize(
    ("cores", "together", "workers"),
    [(64, None, 16), (64, "1", 16), (64, "2", 16), (64, "8", 8), (6, "4", 1), (2, "8", 1), (8, "", 8), (8, "0", 8)],
)
def test_processes_of_a_machine_share_its_cores(
    cores: int, together: str | None, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside GPUs: 8 processes on 64 cores would start 128 workers otherwise."""
    monkeypatch.delenv("RESLAB_WORKERS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(cores)))
    if together is None:
        monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    else:
        monkeypatch.setenv("LOCAL_WORLD_SIZE", together)
    assert count_workers("cuda") == workers
    assert count_workers("cpu") == 1
