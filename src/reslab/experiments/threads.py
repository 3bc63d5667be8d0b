"""How many threads a run on the CPU uses, and the warnings if other programs take the cores from them.

Threads wait for each other many times an iteration, in convolutions (oneDNN) by spinning, which nothing can turn off:
one that has no core stops all. Beside a busy program fewer threads are then many times faster. Another number of
threads changes the last bits of sums, so it is chosen once, where a run begins, and kept wherever that goes on.
"""

import contextlib
import os
import time
from collections.abc import Iterator

import torch

from reslab.experiments.estimate import measure_speed
from reslab.runs.directory import RunDirectory
from reslab.runs.origins import DAMAGE
from reslab.runs.provenance import describe_hardware
from reslab.runtime.cores import Waiting, measure_waiting
from reslab.runtime.listener import Listener, Metrics
from reslab.spec.trial import Trial
from reslab.training.checkpoint import newest_step

VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")  # who sets one has chosen
CROWDED = 0.1  # of the time that a thread waits for a core; on an idle machine next to nothing
WORTH = 1.25  # times as fast as with all threads, before fewer are taken
COLLAPSED = 3.0  # times slower than before
SECONDS_BETWEEN_LOOKS = 30.0


@contextlib.contextmanager
def suitable_threads(
    trial: Trial, run: RunDirectory | None = None, *, device: str, together: int = 1, listener: Listener
) -> Iterator[None]:
    """Compute with a suitable number of threads, unless the user set one; warn if it is not all of them.

    Of several trials or processes `together` each has all of them. Without a `run` there is none to resume.
    """
    usual = torch.get_num_threads()
    chosen = usual
    if device == "cpu" and usual > 1 and together == 1 and not any(os.environ.get(name) for name in VARIABLES):
        chosen = _choose(trial, run, usual, listener)
    with _computing_by(chosen):
        yield


def _choose(trial: Trial, run: RunDirectory | None, usual: int, listener: Listener) -> int:
    """Return the number of threads that a run has had on this machine, or the fastest."""
    had = _find_recorded(run) if run else None
    threads = min(had or usual, usual)
    if run and run.state == "finished":  # if at all, its weights are made again as they were
        return threads
    fastest, gain = threads, 1.0
    if threads > 1 and measure_waiting() > CROWDED:
        fastest, gain = _find_fastest(trial, threads)
    if had is None:
        if fastest < usual:
            listener.warn(
                f"other programs are using this machine; the run uses {_count(fastest)}, now {_times(gain)} as fast as "
                f"{usual}. To use {usual}, put OMP_NUM_THREADS={usual} before the command"
            )
        return fastest
    if threads < usual:
        listener.warn(
            f"the run resumes with {_count(threads)}, as at its start, so that its results stay exactly the same; "
            f"to use {usual}, put OMP_NUM_THREADS={usual} before the command"
        )
    if fastest < threads:
        listener.warn(
            f"other programs are using this machine; the run resumes with {_count(threads)}, as at its start, but "
            f"{_count(fastest)} would be {_times(gain)} as fast now: {_tell_remedy(fastest)}"
        )
    return threads


def _find_recorded(run: RunDirectory) -> int | None:
    """Return how many threads a run had last, if it has got anywhere and that was on such a machine."""
    if run.state != "finished" and not newest_step(run.checkpoints):
        return None
    with contextlib.suppress(*DAMAGE):
        last = run.read("provenance")["sittings"][-1]
        return last["threads"] if describe_hardware().items() <= last["machine"].items() else None
    return None


def _find_fastest(trial: Trial, most: int) -> tuple[int, float]:
    """Return how many threads are fastest now, `most` unless fewer are clearly faster, and how many times so."""
    seconds: dict[int, float] = {}
    for count in dict.fromkeys([most, most - 1, *(most >> shift for shift in range(1, most.bit_length()))]):
        waiting = Waiting()
        with _computing_by(count):
            seconds[count] = measure_speed(trial, device="cpu").iteration_seconds
        if (count == most and waiting.share < CROWDED) or seconds[count] > min(seconds.values()):
            break  # the others were busy for a moment only, or the best has been passed
    fastest = min(seconds, key=lambda count: seconds[count])
    gain = seconds[most] / seconds[fastest]
    return (fastest, gain) if gain > WORTH else (most, 1.0)


@contextlib.contextmanager
def _computing_by(threads: int) -> Iterator[None]:
    usual = torch.get_num_threads()
    if threads == usual:  # torch is left alone
        yield
        return
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(usual)


def watch_for_collapse(listener: Listener) -> Listener:
    """Return a listener that hears what `listener` does, and warns once if other programs slow the run down."""
    threads = torch.get_num_threads()
    return listener.moved_by(SpeedWatch(listener, threads).hear) if threads > 1 else listener


class SpeedWatch:
    """Compares the speed of iterations with the best so far; what an evaluation takes does not count."""

    def __init__(self, listener: Listener, threads: int) -> None:
        self.listener, self.threads, self.best, self.warned = listener, threads, 0.0, False
        self.heard_at: float | None = None
        self._look_again()

    def hear(self, step: int, metrics: Metrics) -> None:
        """Hear that an iteration is done."""
        now = time.monotonic()
        if self.heard_at is not None and metrics.get("step") != step:
            self.steps, self.seconds = self.steps + 1, self.seconds + now - self.heard_at
        if self.seconds > SECONDS_BETWEEN_LOOKS and not self.warned:
            self._look()
        self.listener.progress(step, metrics)
        self.heard_at = time.monotonic()

    def _look(self) -> None:
        speed = self.steps / self.seconds
        if speed * COLLAPSED < self.best and self.waiting.share > CROWDED:
            self.warned = True
            self.listener.warn(
                f"other programs are using this machine: the run does {speed:.1f} iterations per second instead of "
                f"{self.best:.1f}, because its {self.threads} threads wait for cores. To speed it up, stop it with "
                f"Ctrl-C and {_tell_remedy(self.threads // 2)}"
            )
        self.best = max(self.best, speed)
        self._look_again()

    def _look_again(self) -> None:
        self.steps, self.seconds, self.waiting = 0, 0.0, Waiting()


def _count(threads: int) -> str:
    return "1 thread" if threads == 1 else f"{threads} threads"


def _times(gain: float) -> str:
    """Say how much faster, no more exactly than so few steps can tell."""
    return f"{gain:.1f} times" if gain < 10 else "many times"


def _tell_remedy(threads: int) -> str:
    return f"put OMP_NUM_THREADS={threads} before the command that resumes it; the results will differ slightly"
