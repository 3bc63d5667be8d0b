"""Several trials at once: each in a thread of its own, on CUDA on a stream of its own, as many as memory allows.

A small network leaves most of a GPU idle; eight of them fill it. Every trial is run by `run_trial` and shares nothing
with the others but the images, so it ends as it would have alone. Long ones begin first: none is left for last.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path

import torch

from reslab.data.dataset import Dataset
from reslab.errors import UserError
from reslab.experiments.run import run_trial
from reslab.experiments.sizes import measure_sizes, trial_bytes
from reslab.experiments.threads import suitable_threads
from reslab.runs.directory import RunDirectory
from reslab.runtime.listener import ALOUD, Listener
from reslab.runtime.memory import free_memory
from reslab.spec.trial import Trial
from reslab.training.checkpoint import newest_step
from reslab.training.loop import Stopped
from reslab.training.schedule import read_snapshots
from reslab.training.stepping import reproducible

MOST_ON_CUDA = 8  # docs/inside/log.md: more gain little
USABLE = 0.8  # of the free memory: what libraries and allocators take besides is not counted


def most_together(device: str, dataset: Dataset) -> int:
    """Return how many trials suit a device, if memory allows; one on photographs fills it."""
    return MOST_ON_CUDA if device.startswith("cuda") and not dataset.has_files else 1


def choose_next(waiting: Sequence[int], running: Sequence[int], *, budget: int, together: int) -> int | None:
    """Return the place of the first that may begin, by the bytes each needs; None if all must wait.

    Whatever it needs, one alone may always begin.
    """
    if not waiting or len(running) >= together:
        return None
    if not running:
        return 0
    room = budget - sum(running)
    return next((place for place, need in enumerate(waiting) if need <= room), None)


def longest_first(trials: Sequence[Trial], root: Path) -> list[Trial]:
    """Return the trials, those with the most still to compute before the others."""

    def work(trial: Trial) -> int:
        left = trial.recipe.iterations - newest_step(RunDirectory.of(trial, root).checkpoints)
        return measure_sizes(trial).multiply_adds * trial.recipe.batch * left

    return sorted(trials, key=work, reverse=True)


def run_together(
    trials: Sequence[Trial],
    dataset: Dataset,
    root: Path,
    *,
    weights: str | Path | None = None,
    device: str,
    together: int = 1,
    compile: bool = False,
    snapshots: str | None = None,
    listener: Listener = ALOUD,
) -> dict[str, str]:
    """Run `trials` to their ends, `together` at once at most; the listener is told when one begins.

    `weights` are what all of them start from, if they do. One that fails leaves the others alone: it is told at once,
    and what went wrong is returned in the end, by the trial's id. A wish to stop stops all of them.
    """
    together = min(together, max(1, len(trials)))
    halt = threading.Event()
    failures: dict[str, str] = {}
    wanted = {
        trial: read_snapshots(snapshots, trial.recipe.iterations) if snapshots else frozenset() for trial in trials
    }
    halting = replace(listener, should_stop=lambda: halt.is_set() or listener.should_stop())

    def run(trial: Trial) -> bool:
        """Run a trial and return whether it was stopped."""
        try:
            with (
                listener.enter(trial, trial.recipe.iterations) as progress,
                suitable_threads(
                    trial, RunDirectory.of(trial, root), device=device, together=together, listener=listener
                ),
            ):
                run_trial(
                    trial,
                    dataset,
                    root,
                    weights=weights,
                    device=device,
                    together=together,
                    compile=compile,
                    snapshots=wanted[trial],
                    listener=replace(halting, progress=progress),
                )
        except Stopped:
            return True
        except UserError as error:
            # Its sentence is kept, not the error, which would hold on to the trial's memory.
            failures[trial.id] = str(error)
            listener.warn(f"{trial.id}: {error}")
        return False

    with reproducible():
        ordered = longest_first(trials, root)
        if together == 1:
            for trial in ordered:
                if listener.should_stop() or run(trial):
                    raise Stopped
        else:
            budget = int(USABLE * free_memory(device))
            budget -= max((dataset.count_bytes(trial, device=device) for trial in trials), default=0)
            needs = [(trial, trial_bytes(trial, device=device)) for trial in ordered]
            _ride(needs, run, together=together, budget=budget, device=device, listener=listener, halt=halt)
    return failures


def refuse_failures(failures: Mapping[str, str], *, of: int) -> None:
    """Say what went wrong with those that failed, if any did; the others are finished."""
    if failures:
        told = "; ".join(f"{name}: {sentence}" for name, sentence in failures.items())
        others = ", the rest are finished" if len(failures) < of else ""
        raise UserError(f"{len(failures)} of {of} trials failed{others}: {told}")


def _ride(
    waiting: list[tuple[Trial, int]],
    run: Callable[[Trial], bool],
    *,
    together: int,
    budget: int,
    device: str,
    listener: Listener,
    halt: threading.Event,
) -> None:
    """Let each begin as soon as there are the bytes it needs; `halt` tells those under way when this fails."""
    riding: dict[Future[bool], int] = {}
    stopped = False
    with ThreadPoolExecutor(together, initializer=settle, initargs=(device, torch.get_num_threads())) as threads:
        try:
            while waiting or riding:
                needs, taken = [need for _, need in waiting], list(riding.values())
                place = None if listener.should_stop() else choose_next(needs, taken, budget=budget, together=together)
                if place is not None:
                    trial, need = waiting.pop(place)
                    riding[threads.submit(run, trial)] = need
                    continue
                if not riding:
                    break
                for ended in wait(riding, return_when=FIRST_COMPLETED).done:
                    del riding[ended]
                    stopped |= ended.result()
        except BaseException:
            halt.set()
            raise
    if waiting or stopped:
        raise Stopped


def settle(device: str, num_threads: int) -> None:
    """Make a new thread compute as the first one does, on CUDA on a stream of its own."""
    torch.set_num_threads(num_threads)
    if device.startswith("cuda"):
        # torch hands out its streams of a kind in turns, and networks take ordinary ones for work on the side: were one
        # of those a trial's own, recording the one would record the other.
        torch.cuda.set_stream(torch.cuda.Stream(device, priority=-1))
