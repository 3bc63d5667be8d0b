"""What is looked at before a trial runs, from the command line and from Python alike: refusals, doubts, memory, disk.

How long it will take is `estimate`'s to tell: that costs a second or two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reslab.data.dataset import Dataset, count_held_back
from reslab.experiments.estimate import disk_needs
from reslab.experiments.fitting import refuse_unfit_trial
from reslab.experiments.sizes import check_memory, trial_bytes
from reslab.files import refuse_full_disk
from reslab.runs.directory import RunDirectory
from reslab.runtime.listener import Listener
from reslab.spec.trial import Trial


def preflight(trial: Trial, dataset: Dataset, *, device: str, num_processes: int = 1, listener: Listener) -> None:
    """Refuse what cannot be trained; warn where memory looks short, and of what is hardly meant."""
    refuse_unfit_trial(trial, dataset, num_processes=num_processes)
    for sentence in find_worries([trial], dataset, device=device, num_processes=num_processes):
        listener.warn(sentence)


def find_worries(trials: Sequence[Trial], dataset: Dataset, *, device: str, num_processes: int = 1) -> dict[str, Trial]:
    """Return doubts, each once, with a trial it is about; first, where memory looks short, that of the largest."""
    largest = max(trials, key=lambda trial: trial_bytes(trial, device=device))
    shortage = check_memory(largest, dataset, device=device, num_processes=num_processes)
    doubts = {doubt: trial for trial in trials for doubt in list_doubts(trial, dataset, device=device)}
    return ({shortage: largest} if shortage else {}) | doubts


def list_doubts(trial: Trial, dataset: Dataset, *, device: str) -> list[str]:
    """Return what can be trained on a device and is hardly meant, a sentence each."""
    doubts, recipe = [], trial.recipe
    images = len(dataset.train) - count_held_back(dataset.train, trial.data.split)
    if recipe.batch > images:
        doubts.append(
            f"recipe.batch is {recipe.batch:,} and there are {images:,} training images, so that some come up again "
            "within a batch; choose a smaller one"
        )
    if recipe.freeze is not None and trial.start is None:
        doubts.append("recipe.freeze without weights= keeps what it freezes random; give weights=FILE to start from")
    if recipe.precision == "fp16" and device == "cpu":
        doubts.append("recipe.precision=fp16 is for GPUs and slow on a CPU; bf16 is the fast one here")
    return doubts


def refuse_short_disk(runs: Iterable[tuple[Trial, RunDirectory]]) -> None:
    """Refuse runs for which the disk has no room; while one is written, it takes a checkpoint more."""
    pairs = list(runs)
    needs = [disk_needs(trial) for trial, _ in pairs]
    there = sum(path.stat().st_size for _, run in pairs for path in run.path.rglob("*") if path.is_file())
    needed = sum(need.total_bytes for need in needs) - there + max(need.checkpoint_bytes for need in needs)
    place = pairs[0][1].path if len(pairs) == 1 else pairs[0][1].path.parent
    refuse_full_disk(place, needed, remedy="choose another place with --runs")
