"""Batches of crops, whoever decodes them; bad files; workers that die."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Literal

import pytest
import torch
from tests.photographs import make_photos

from reslab.data.photos.folder import read_folder
from reslab.data.photos.order import PhotoSampler
from reslab.data.photos.workers import Decoded, TrainingCrops, _main_unseen, count_workers, stream_batches
from reslab.errors import UserError
from reslab.spec.recipe import AugmentationSpec

CROPS = AugmentationSpec(crop="resized", colour=0.1)


ENDLESS = """
import itertools, sys, time
from pathlib import Path
from reslab.data.photos.folder import read_folder
from reslab.data.photos.workers import TrainingCrops, stream_batches
from reslab.data.photos.order import PhotoSampler
from reslab.spec.recipe import AugmentationSpec

split = read_folder(Path(sys.argv[1])).train
crops = TrainingCrops(split, AugmentationSpec(crop="resized"), seed=5)
sampler = PhotoSampler(count=len(split), seed=5)
stream = stream_batches(crops, ((24, sampler.draw(step, 4)) for step in itertools.count()), workers=1)
next(stream)
print("begun", flush=True)
time.sleep(100)
"""


def take(crops: TrainingCrops, *, workers: int, first: int = 0, count: int = 3) -> list[torch.Tensor]:
    sampler = PhotoSampler(count=len(crops.split), seed=5)
    wanted = ((24 if step < 2 else 32, sampler.draw(step, 4)) for step in itertools.count(first))
    stream = stream_batches(crops, wanted, workers=workers)
    batches = [next(stream) for _ in range(count)]
    return [getattr(batch, name) for batch in batches for name in ("pixels", "targets", "shifts")]


@pytest.mark.parametrize("policy", ["none", "trivial", "rand"])
def test_batches_hang_on_seed_and_step_alone(policy: str, tmp_path: Path) -> None:
    """Begun later, or with another global generator, they are the same; another seed gives others."""
    split = read_folder(make_photos(tmp_path)).train
    augmentation = AugmentationSpec(crop="resized", policy=policy)  # pyright: ignore[reportArgumentType]
    crops = TrainingCrops(split, augmentation, seed=5)
    before = torch.random.get_rng_state()
    batches = take(crops, workers=0)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert batches[0].shape == (4, 24, 24, 3)
    torch.manual_seed(7)
    assert all(torch.equal(a, b) for a, b in zip(batches[3:], take(crops, workers=0, first=1, count=2), strict=True))
    other = TrainingCrops(split, augmentation, seed=6)
    assert not torch.equal(take(other, workers=0)[0], batches[0])


@pytest.mark.parametrize("policy", ["trivial", "rand"])
def test_threads_do_not_disturb_each_others_batches(policy: Literal["trivial", "rand"], tmp_path: Path) -> None:
    """Trials side by side, without workers: policies draw from torch's generator, which is everyone's, and is left."""
    split = read_folder(make_photos(tmp_path)).train
    augmentation = AugmentationSpec(crop="resized", policy=policy)
    both = [TrainingCrops(split, augmentation, seed=seed) for seed in (5, 6)]
    alone = [take(crops, workers=0, count=6) for crops in both]
    before = torch.random.get_rng_state()
    with ThreadPoolExecutor(2) as threads:
        together = list(threads.map(partial(take, workers=0, count=6), both))
    for ours, expected in zip(together, alone, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(ours, expected, strict=True))
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.slow
def test_workers_give_the_same_batches(tmp_path: Path) -> None:
    """Two processes as well as none, crops that grow included."""
    split = read_folder(make_photos(tmp_path)).train
    crops = TrainingCrops(split, CROPS, seed=5)
    alone = take(crops, workers=0, count=5)
    assert all(torch.equal(a, b) for a, b in zip(alone, take(crops, workers=2, count=5), strict=True))


def begin_with_worker(tmp_path: Path) -> tuple[Iterator[Decoded], int]:
    """Return a stream of batches whose first was taken, and the process that makes them."""
    split = read_folder(make_photos(tmp_path)).train
    sampler = PhotoSampler(count=len(split), seed=5)
    crops = TrainingCrops(split, CROPS, seed=5)
    stream = stream_batches(crops, ((24, sampler.draw(step, 4)) for step in itertools.count()), workers=1)
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


def test_names_need_not_be_text(tmp_path: Path) -> None:
    """Old archives leave names in other encodings than ours."""
    make_photos(tmp_path)
    (tmp_path / "train/blues/000.jpg").rename(tmp_path / "train/blues" / os.fsdecode(b"caf\xe9.jpg"))
    split = read_folder(tmp_path).train
    keys = [(0, index) for index in range(len(split))]
    assert not TrainingCrops(split, CROPS, seed=5)[24, keys].bad


def test_a_bad_image_is_named_or_the_next_stands_in(tmp_path: Path) -> None:
    """Stopping is the default."""
    split = read_folder(make_photos(tmp_path)).train
    split.path(2).write_bytes(b"not a photograph")
    keys = [(0, index) for index in range(4)]
    stopped = TrainingCrops(split, CROPS, seed=5)[24, keys]
    assert len(stopped.bad) == 1
    assert str(split.path(2)) == stopped.bad[0].image
    skipped = TrainingCrops(split, CROPS, seed=5, skip=True)[24, keys]
    assert [str(error) for error in skipped.bad] == [str(error) for error in stopped.bad]
    assert torch.equal(skipped.pixels[2], skipped.pixels[3])
    assert len(skipped.pixels) == 4


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
