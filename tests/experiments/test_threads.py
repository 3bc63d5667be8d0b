"""Beside other programs a run takes the threads that are fastest; what has begun keeps them, and is told."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tests.experiments.faults import make_trial
from tests.trials import DIGITS, make_digits_trial

from reslab.experiments import threads as module
from reslab.experiments.estimate import Speed
from reslab.experiments.run import run_trial
from reslab.experiments.threads import SECONDS_BETWEEN_LOOKS, SpeedWatch, suitable_threads, watch_for_collapse
from reslab.runs.directory import RunDirectory
from reslab.runs.provenance import describe_surroundings
from reslab.runtime.listener import Listener

BUSY, IDLE = 0.5, 0.01


class Machine:
    """What is measured of a machine with some cores, and what a run on it is told."""

    def __init__(self, patch: pytest.MonkeyPatch, root: Path) -> None:
        self.waiting = self.lasting = BUSY  # in a moment, and in the measurements that follow
        self.seconds: dict[int, float] = {}  # an iteration, by the number of threads
        self.timed: list[int] = []
        self.told: list[str] = []
        self.trial = make_trial()
        self.run = RunDirectory.of(self.trial, root)
        patch.delenv("OMP_NUM_THREADS", raising=False)
        patch.delenv("MKL_NUM_THREADS", raising=False)
        patch.setattr(module, "measure_waiting", lambda: self.waiting)
        patch.setattr(module, "measure_speed", self.measure)
        patch.setattr(module.Waiting, "share", property(lambda _: self.lasting))

    def measure(self, trial: object, *, device: str) -> Speed:
        self.timed.append(torch.get_num_threads())
        return Speed(iteration_seconds=self.seconds[self.timed[-1]], test_seconds=0.0)

    def leave(self, threads: int, **machine: object) -> None:
        """Leave a run behind that had so many threads."""
        here = describe_surroundings()["machine"] | machine
        self.run.begin(self.trial, {"threads": threads, "machine": here})
        self.run.checkpoints.mkdir(exist_ok=True)
        (self.run.checkpoints / "step-00000004.safetensors").touch()

    def choose(self, *, device: str = "cpu", together: int = 1) -> int:
        """Return how many threads the run gets; afterwards there are as many as before."""
        before, listener = torch.get_num_threads(), Listener(warn=self.told.append)
        with suitable_threads(self.trial, self.run, device=device, together=together, listener=listener):
            chosen = torch.get_num_threads()
        assert torch.get_num_threads() == before
        return chosen


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Machine:
    """A machine of two cores, both threads of which collapse beside another program."""
    torch.set_num_threads(2)
    machine = Machine(monkeypatch, tmp_path)
    machine.seconds = {1: 0.01, 2: 0.6}
    return machine


def test_beside_other_programs_the_fastest_are_taken(machine: Machine) -> None:
    """And one sentence says so, with how to have it otherwise."""
    assert machine.choose() == 1
    assert machine.timed == [2, 1]
    assert machine.told == [
        "other programs are using this machine; the run uses 1 thread, now many times as fast as 2. "
        "To use 2, put OMP_NUM_THREADS=2 before the command"
    ]


def test_on_many_cores_all_but_one_are_tried_and_halves(machine: Machine) -> None:
    """Until fewer are slower again."""
    torch.set_num_threads(16)
    machine.seconds = {16: 1.0, 15: 0.4, 8: 0.2, 4: 0.3, 2: 0.6, 1: 1.2}
    assert machine.choose() == 8
    assert machine.timed == [16, 15, 8, 4]


@pytest.mark.parametrize(
    "why", ["idle", "a moment", "hardly faster", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "GPU", "together"]
)
def test_otherwise_threads_are_left_alone(why: str, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """On an idle machine nothing but a moment is measured: its numbers are those of all threads, as ever."""
    if why == "idle":
        machine.waiting = IDLE
    elif why == "a moment":
        machine.lasting = IDLE
    elif why == "hardly faster":
        machine.seconds[2] = 0.011
    elif why.endswith("THREADS"):
        monkeypatch.setenv(why, "2")
    assert machine.choose(device="cuda" if why == "GPU" else "cpu", together=2 if why == "together" else 1) == 2
    assert machine.timed == {"a moment": [2], "hardly faster": [2, 1]}.get(why, [])
    assert not machine.told


def test_a_run_keeps_the_threads_it_began_with(machine: Machine) -> None:
    """Its numbers stay the same to the last bit; that there are more is said, and where fewer were faster."""
    machine.leave(1)
    machine.waiting = IDLE
    assert machine.choose() == 1
    (sentence,) = machine.told
    assert sentence.startswith("the run resumes with 1 thread, as at its start") and "OMP_NUM_THREADS=2" in sentence
    machine.told.clear()
    machine.leave(2)
    assert (machine.choose(), machine.told) == (2, [])
    machine.waiting, machine.seconds[2] = BUSY, 0.06
    assert machine.choose() == 2
    (sentence,) = machine.told
    assert "1 thread would be 6.0 times as fast now: put OMP_NUM_THREADS=1" in sentence


def test_on_another_machine_a_run_chooses_anew(machine: Machine) -> None:
    """The bits of another processor are not to be had; nor has it more threads than there are."""
    machine.leave(1, processor="another")
    machine.waiting = IDLE
    assert (machine.choose(), machine.told) == (2, [])


def test_more_threads_than_there_are_are_not_taken(machine: Machine) -> None:
    """A run that had more goes on with what there is; `resuming` says what that means."""
    machine.leave(64)
    machine.waiting = IDLE
    assert (machine.choose(), machine.told) == (2, [])


def test_a_finished_run_is_made_again_as_it_was(machine: Machine) -> None:
    """Without a word: if its weights are there, nothing is computed at all."""
    machine.leave(1)
    machine.run.finish({})
    assert (machine.choose(), machine.told, machine.timed) == (1, [], [])


def test_a_collapse_on_the_way_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where threads wait for cores and iterations are many times slower than before; evaluations do not count."""
    now, share, told, heard = 0.0, IDLE, list[str](), list[int]()
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    monkeypatch.setattr(module.Waiting, "share", property(lambda _: share))
    watch = SpeedWatch(Listener(warn=told.append, progress=lambda step, _: heard.append(step)), threads=4)
    step = 0

    def go(count: int, seconds: float) -> None:
        nonlocal now, step
        for _ in range(count):
            now, step = now + seconds, step + 1
            watch.hear(step, {})

    go(1 + int(SECONDS_BETWEEN_LOOKS / 0.5) + 1, 0.5)
    now, step = now + 10_000, step + 1
    watch.hear(step, {"step": step})  # after a long evaluation
    go(20, 8.0)  # slower, and nobody waits: larger crops, perhaps
    assert not told
    share = BUSY
    go(20, 8.0)
    assert told == [
        "other programs are using this machine: the run does 0.1 iterations per second instead of 2.0, because its 4 "
        "threads wait for cores. To speed it up, stop it with Ctrl-C and put OMP_NUM_THREADS=2 before the command "
        "that resumes it; the results will differ slightly"
    ]
    assert heard == list(range(1, step + 1))


def test_a_run_is_watched_where_it_has_several_threads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One thread cannot wait for another; and whoever listens hears of every iteration all the same."""
    listener = Listener()
    assert watch_for_collapse(listener) is listener
    torch.set_num_threads(2)
    watched: list[int] = []
    monkeypatch.setattr(module.SpeedWatch, "hear", lambda self, step, metrics: watched.append(step))
    run_trial(make_digits_trial("cifar-plain-8", iterations=2, batch=16), DIGITS, tmp_path)
    assert watched == [1, 2]


@pytest.mark.parametrize("provenance", [None, {"sittings": []}, {"sittings": [{"threads": 1}]}], ids=str)
def test_a_record_that_says_nothing_of_threads_stops_nobody(provenance: dict[str, object], machine: Machine) -> None:
    """Then they are chosen anew."""
    machine.leave(1)
    machine.run.finish({})
    (machine.run.path / "provenance.json").unlink()
    if provenance:
        machine.run.write("provenance", provenance)
    assert (machine.choose(), machine.told) == (2, [])


def test_without_a_run_the_fastest_are_taken(machine: Machine) -> None:
    """As the range test does, which writes none."""
    with suitable_threads(machine.trial, device="cpu", listener=Listener(warn=machine.told.append)):
        assert torch.get_num_threads() == 1
    assert len(machine.told) == 1
