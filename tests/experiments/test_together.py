"""Trials side by side: each ends as it would have alone, to the bit, whatever happens to the others."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
import torch
from tests.experiments.faults import OPTIONS, make_trial
from tests.trials import DIGITS, outcome

from reslab.data.arrays.dataset import ArrayDataset
from reslab.data.arrays.split import ArraySplit
from reslab.data.photos.folder import PhotoDataset
from reslab.errors import UserError
from reslab.experiments import together
from reslab.experiments.reproduce import Plan, reproduce
from reslab.experiments.run import run_trial
from reslab.experiments.together import choose_next, longest_first, most_together, run_together
from reslab.paper.claim import Setting
from reslab.runs.directory import RunDirectory
from reslab.runtime.listener import Listener, Metrics
from reslab.spec import find
from reslab.spec.recipe import find_recipe
from reslab.spec.trial import DataSpec, Trial
from reslab.training.loop import Stopped

Progress: TypeAlias = Callable[[int, Metrics], None]
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
devices = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=[pytest.mark.gpu, needs_cuda])])
SHORT = find_recipe("digits", OPTIONS | {"iterations": 12, "exact_norms": True, "average_decay": 0.9})
# Two seeds with dropout and stochastic depth, and a deeper one with nothing random in it.
TRIALS = [
    make_trial(SHORT),
    replace(make_trial(SHORT), seed=4),
    make_trial(SHORT, "cifar-resnet-14", dropout=0.0, stochastic_depth=0.0),
]
DIVERGING = make_trial(replace(SHORT, optimizer=replace(SHORT.optimizer, learning_rate=1e30)), norm="none")


def ride(
    trials: list[Trial],
    root: Path,
    *,
    dataset: ArrayDataset = DIGITS,
    device: str = "cpu",
    at_once: int = 3,
    begin: Callable[[Trial], Progress] = lambda trial: lambda step, metrics: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> dict[str, str]:
    listener = Listener(should_stop=should_stop, enter=lambda trial, total: nullcontext(begin(trial)))
    return run_together(trials, dataset, root, device=device, together=at_once, listener=listener)


def outcomes(trials: list[Trial], root: Path) -> list[tuple[str, str, str]]:
    return [outcome(RunDirectory.of(trial, root)) for trial in trials]


@devices
def test_each_ends_as_it_would_have_alone(device: str, tmp_path: Path) -> None:
    """Three at the same time, dropout included: weights, metric log and result to the bit; captured on CUDA."""
    for trial in TRIALS:
        run_trial(trial, DIGITS, tmp_path / "alone", device=device)
    meeting = threading.Barrier(len(TRIALS), timeout=60)

    def begin(trial: Trial) -> Progress:
        return lambda step, metrics: (step == 2 and meeting.wait(), None)[1]

    assert ride(TRIALS, tmp_path / "together", device=device, begin=begin) == {}
    assert outcomes(TRIALS, tmp_path / "together") == outcomes(TRIALS, tmp_path / "alone")
    (sitting,) = RunDirectory.of(TRIALS[0], tmp_path / "together").read("provenance")["sittings"]
    assert (sitting["together"], sitting["capture"]) == (3, device == "cuda")


def test_trials_of_ones_own_need_no_more_than_a_place(tmp_path: Path) -> None:
    """From Python, what fails is warned of as Python does, and returned."""
    with pytest.warns(UserWarning, match="is not finite"):
        failures = run_together([DIVERGING, TRIALS[2]], DIGITS, tmp_path, device="cpu", together=2)
    assert list(failures) == [DIVERGING.id]
    assert RunDirectory.of(TRIALS[2], tmp_path).state == "finished"


def test_one_is_alone_however_many_there_could_be(tmp_path: Path) -> None:
    """And its record says so: speed and memory are its own."""
    (trial, *_) = TRIALS
    ride([trial], tmp_path, at_once=8)
    (sitting,) = RunDirectory.of(trial, tmp_path).read("provenance")["sittings"]
    assert sitting["together"] == 1


@devices
@pytest.mark.parametrize("at_once", [1, 2])
def test_one_that_diverges_leaves_the_others_alone(
    device: str, at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They finish; then its sentence is told, and every finished run has been measured."""
    told: list[str] = []
    measured: list[str] = []
    note = "reslab.experiments.reproduce._measure"
    monkeypatch.setattr(note, lambda plan, run, setting, listener: measured.append(run.path.name))
    plan = Plan(
        claims=(),
        dataset=DIGITS,
        root=tmp_path,
        seeds=1,
        trials=dict.fromkeys([DIVERGING, *TRIALS[:2]], Setting(network="resnet-20", recipe="digits")),
        together=at_once,
        device=device,
    )
    with pytest.raises(UserError, match=rf"1 of 3 trials failed.*{DIVERGING.id}: the loss or a gradient of iteration"):
        reproduce(plan, listener=Listener(warn=told.append))
    assert len(told) == 1
    assert "is not finite" in told[0]
    assert measured == [trial.id for trial in TRIALS[:2]]
    assert RunDirectory.of(DIVERGING, tmp_path).state == "diverged"


@devices
def test_all_stop_and_all_go_on(device: str, tmp_path: Path) -> None:
    """Asked to stop in the middle, each saves at its next step; the second call ends as if never stopped."""
    for trial in TRIALS:
        run_trial(trial, DIGITS, tmp_path / "alone", device=device)
    steps: list[int] = []
    with pytest.raises(Stopped):
        ride(
            TRIALS,
            tmp_path,
            device=device,
            at_once=2,
            begin=lambda trial: lambda step, metrics: steps.append(step),
            should_stop=lambda: len(steps) >= 6,
        )
    states = [RunDirectory.of(trial, tmp_path).state for trial in TRIALS]
    assert states.count("interrupted") == 2
    assert states.count("new") == 1
    assert ride(TRIALS, tmp_path, device=device) == {}
    assert outcomes(TRIALS, tmp_path) == outcomes(TRIALS, tmp_path / "alone")


@pytest.mark.gpu
@needs_cuda
def test_more_trials_than_streams_by_kernels_of_our_own(tmp_path: Path) -> None:
    """Forty, three at once: the streams that networks use on the side come round again, and disturb no one."""
    chance = np.random.default_rng(0)
    noise = ArraySplit(
        chance.integers(0, 256, (64, 3, 32, 32), dtype=np.uint8), chance.integers(0, 10, 64, dtype=np.uint8)
    )
    dataset = ArrayDataset(name="noise", class_names=tuple("0123456789"), train=noise, test=noise)
    first = Trial(
        data=DataSpec(name="noise", fingerprint=dataset.fingerprint),
        network=find("cifar-resnet-8"),
        recipe=find_recipe("cifar-paper", {"iterations": 4, "batch": 32, "evaluate_every": 2, "precision": "bf16"}),
    )
    trials = [replace(first, seed=seed) for seed in range(40)]
    assert ride(trials, tmp_path, dataset=dataset, device="cuda") == {}
    (sitting,) = RunDirectory.of(trials[0], tmp_path).read("provenance")["sittings"]
    assert sitting["fused"]
    some = trials[::13]
    for trial in some:
        run_trial(trial, dataset, tmp_path / "alone", device="cuda")
    assert outcomes(some, tmp_path) == outcomes(some, tmp_path / "alone")


def test_a_bug_in_one_stops_the_others_and_keeps_its_traceback(tmp_path: Path) -> None:
    """Those under way save their state."""
    first_step = threading.Event()

    def begin(trial: Trial) -> Progress:
        def progress(step: int, metrics: Metrics) -> None:
            if trial == TRIALS[0]:
                assert first_step.wait(60)
                raise RuntimeError("a bug")
            first_step.set()
            threading.Event().wait(0.05)  # long enough for the other to fail first

        return progress

    with pytest.raises(RuntimeError, match="a bug"):
        ride(TRIALS[:2], tmp_path, begin=begin)
    assert [RunDirectory.of(trial, tmp_path).state for trial in TRIALS[:2]] == ["interrupted", "interrupted"]
    assert list(RunDirectory.of(TRIALS[1], tmp_path).checkpoints.iterdir())


@pytest.mark.parametrize(("free", "most"), [(0, 1), (10**15, 2)])
def test_memory_decides_how_many_ride(free: int, most: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without room they go one by one, with room as many as are asked for."""
    riding, seen, lock = [0], [], threading.Lock()

    def run(trial: Trial, *_: object, **__: object) -> None:
        with lock:
            riding[0] += 1
            seen.append(riding[0])
        threading.Event().wait(0.02)
        with lock:
            riding[0] -= 1

    monkeypatch.setattr(together, "free_memory", lambda device: free)
    monkeypatch.setattr(together, "run_trial", run)
    ride([*TRIALS, DIVERGING], tmp_path, at_once=2)
    assert len(seen) == 4
    assert max(seen) == most


@pytest.mark.parametrize(
    ("waiting", "running", "chosen"),
    [
        ([], [], None),
        ([500], [], 0),  # larger than all there is: alone
        ([500], [1], None),
        ([60, 30], [50], 1),  # a smaller one goes first meanwhile
        ([60, 51], [50], None),
        ([50], [50], 0),
        ([1], [1, 1, 1], None),  # as many as may
    ],
)
def test_the_budget(waiting: list[int], running: list[int], chosen: int | None) -> None:
    """A hundred bytes and three at once."""
    assert choose_next(waiting, running, budget=100, together=3) == chosen


def test_the_longest_begin_first(tmp_path: Path) -> None:
    """By what is left to compute: deep before shallow, a long schedule before a short one; equals keep their order."""
    longer = make_trial(find_recipe("digits", OPTIONS | {"iterations": 100}))
    assert longest_first([*TRIALS, longer], tmp_path) == [longer, TRIALS[2], *TRIALS[:2]]


def test_how_many_suit_a_device(photos: PhotoDataset) -> None:
    """A CPU is busy with one, and any device with one on photographs."""
    assert (most_together("cpu", DIGITS), most_together("cuda", DIGITS)) == (1, 8)
    assert most_together("cuda", photos) == 1


def test_each_keeps_weights_along_its_own_way(tmp_path: Path) -> None:
    """Parts of a run are of each one's own iterations; what does not fit one is told before any begins."""
    short = replace(TRIALS[2], recipe=replace(SHORT, iterations=6))
    run_together([TRIALS[2], short], DIGITS, tmp_path, device="cpu", snapshots="0.5")
    for trial, step in ((TRIALS[2], 6), (short, 3)):
        assert RunDirectory.of(trial, tmp_path).snapshot(step).exists()
    with pytest.raises(UserError, match="snapshots are '7'; give steps from 0 to 6"):
        run_together([TRIALS[2], short], DIGITS, tmp_path / "others", device="cpu", snapshots="7")
    assert not (tmp_path / "others").exists()
