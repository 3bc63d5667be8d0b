"""A trial becomes a run directory: seeded, built, trained, tested, recorded. A finished one is not run again."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path

import torch
from torch.optim.swa_utils import update_bn

from reslab.data.batches import refuse_small_images
from reslab.data.dataset import Dataset
from reslab.data.memory import forget_peak_memory, peak_memory
from reslab.data.photos.folder import PhotoDataset
from reslab.data.photos.words import read_words
from reslab.errors import UserError
from reslab.experiments.board import Board
from reslab.experiments.classification import make_task, refuse_misfit
from reslab.experiments.labelled import log_scores
from reslab.experiments.multilabel import MultiLabelTask, refuse_single_label_recipe
from reslab.experiments.photos import PhotoTask, make_photo_task, refuse_photo_recipe, refuse_unfit_recipe
from reslab.experiments.starting import load_start, warn_of_other_preparation
from reslab.networks import build, measure_cost, save_model
from reslab.networks.capture import alone
from reslab.networks.freezing import freeze
from reslab.networks.randomness import draw_from
from reslab.runs.directory import RunDirectory
from reslab.runs.log import StepLog
from reslab.runs.provenance import describe_surroundings
from reslab.spec import name_of
from reslab.spec.codec import encode
from reslab.spec.trial import Trial
from reslab.training.loop import Stopped, Surroundings, fit
from reslab.training.processes import ALONE, Processes, refuse_undivided
from reslab.training.stepping import choose_runtime, mix_seed, reproducible

INITIALIZING = threading.Lock()  # weights are drawn from torch's generator, which all threads share


def run_trial(
    trial: Trial,
    dataset: Dataset | PhotoDataset,
    root: Path,
    *,
    weights: str | Path | None = None,
    device: str = "cpu",
    together: int = 1,
    processes: Processes = ALONE,
    compile: bool = False,
    progress: Callable[[int, dict[str, float]], None] = lambda step, metrics: None,
    warn: Callable[[str], None] = lambda sentence: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> RunDirectory:
    """Run `trial` under `root`, or go on where it was left; return its directory.

    `weights` is what it starts from, if it does, needed at its beginning only.
    On CUDA an iteration is captured as one graph, where the network allows it; `compile` puts torch.compile under it.
    `together` is how many trials share the device at most, for the record: timings are of this one among them, and
    the peak of memory is that of all. Of several `processes`, all call this; the first alone reads and writes the run.
    """
    run = RunDirectory.of(trial, root)
    refuse_unfit_trial(trial, dataset, num_processes=processes.count)
    with run.working() if processes.first else contextlib.nullcontext(), reproducible():
        if processes.ask_first(trial.id) != trial.id:
            raise UserError(f"process {processes.rank} was given another trial than process 0; give all the same")
        if processes.ask_first(run.state == "finished"):
            return run
        words = read_words(dataset.root) if isinstance(dataset, PhotoDataset) else {}
        kind = MultiLabelTask if trial.task == "multi-label" else PhotoTask
        of_photos = partial(make_photo_task, kind=kind, run=run, warn=warn)
        make = of_photos if isinstance(dataset, PhotoDataset) else make_task
        task = make(trial, dataset, device=device, processes=processes)  # pyright: ignore[reportArgumentType]
        with INITIALIZING:
            torch.manual_seed(trial.seed)
            network = build(trial.network)
        if not any(run.checkpoints.glob("step-*")):
            started = load_start(network, trial, weights)
            if started is not None:
                warn_of_other_preparation(started, task.preprocess, warn)
        if trial.recipe.freeze is not None:
            freeze(network, trial.recipe.freeze)
        network.to(device)
        runtime = choose_runtime(
            network,
            trial.recipe,
            device,
            image_shape=task.image_shape,
            compile=compile,
            processes=processes,
        )
        surroundings = describe_surroundings() | {"device": _name_device(device), "together": together}
        if isinstance(dataset, PhotoDataset):
            surroundings["data_at"] = str(dataset.root.resolve())
        if processes.first:
            _warn_of_other_count(run, trial, processes.count, warn)
            run.begin(trial, surroundings | asdict(runtime) | {"processes": processes.count})
        task.execution.prepare_network(network)
        log, timings = StepLog(run.path / "metrics.jsonl"), StepLog(run.path / "timings.jsonl")
        clock = _Clock(timings, batch=trial.recipe.batch, device=device)
        if together == 1:
            forget_peak_memory(device)
        board = Board(run.path / "tensorboard")

        def rewind(step: int, judged_at: int) -> None:
            log.rewind(step, last=judged_at)
            board.begin(step)
            clock.start(step)

        def record(metrics: dict[str, float]) -> None:
            log.append(metrics)
            board.add("metrics", metrics)
            board.add("timings", clock.record(int(metrics["step"])))

        def evaluating(step: int) -> None:
            if processes.first:
                clock.stop(step)
            task.share_skipped()

        try:
            fit(
                network,
                task,
                trial.recipe,
                seed=trial.seed,
                runtime=runtime,
                processes=processes,
                around=Surroundings(
                    checkpoints=run.checkpoints,
                    record=record if processes.first else lambda metrics: None,
                    rewind=rewind,
                    evaluating=evaluating,
                    progress=progress,
                    warn=warn,
                    should_stop=should_stop,
                ),
            )
        except Stopped:  # in all processes at once
            task.share_skipped()
            raise
        with alone():
            if trial.recipe.exact_norms:
                seed = mix_seed(trial.seed, trial.recipe.iterations)
                draw_from(network, torch.Generator(device).manual_seed(seed))  # dropout is on
                update_bn(task.images(), network)
            scores = task.score(network)  # again: exact statistics change what the log's last entry saw
        skipped = task.share_skipped()
        if not processes.first:
            processes.ask_first(None)  # until the result is written
            return run
        network.class_names, network.task = dataset.class_names, trial.task
        network.class_words = {name: words[name] for name in dataset.class_names if name in words}
        network.preprocess, network.mean_image = task.preprocess, task.mean_image
        cost = measure_cost(trial.network, input_shape=task.image_shape)
        result = {
            **log.read()[-1],
            **log_scores(scores),
            **scores.recorded(),
            "class_names": dataset.class_names,
            "data_images": [len(dataset.train), len(dataset.test)],
            "skipped_images": len(dataset.test) - scores.images if isinstance(dataset, PhotoDataset) else 0,
            "skipped_training_images": skipped,
            "params": cost.params,
            "multiply_adds": cost.multiply_adds,
            "activation_bytes": cost.activation_bytes,
        }
        provenance = {"trial": trial.id, "data": encode(trial.data)}
        save_model(network, run.weights, metrics={"error_percent": scores.error_percent}, provenance=provenance)
        run.finish(result)
        processes.ask_first(None)
    return run


def refuse_unfit_trial(trial: Trial, dataset: Dataset | PhotoDataset, *, num_processes: int = 1) -> None:
    """Refuse a trial whose network, recipe or task does not go with the data, or whose batches cannot be shared."""
    refuse_misfit(name_of(trial.network), trial.network, dataset, remedy="leave network.* fields to follow the data")
    refuse_undivided(trial.recipe, num_processes)
    if trial.task != dataset.task:
        raise UserError(f"the trial's task is {trial.task} and {dataset.name} is for {dataset.task}; give other data")
    if trial.task == "multi-label":
        refuse_single_label_recipe(trial)
    if isinstance(dataset, PhotoDataset):
        refuse_unfit_recipe(trial)
    else:
        refuse_photo_recipe(trial)
        augmentation, side = trial.recipe.augmentation, min(dataset.train.images.shape[-2:])
        refuse_small_images(side, padding=augmentation.padding, edges=augmentation.edges, cutout=augmentation.cutout)


def _warn_of_other_count(run: RunDirectory, trial: Trial, count: int, warn: Callable[[str], None]) -> None:
    """Say what changes where a run goes on with another number of processes than it had."""
    if not list(run.checkpoints.glob("step-*")):
        return
    before = run.read("provenance")["sittings"][-1].get("processes", 1)
    if before != count:
        part = trial.recipe.batch // trial.recipe.accumulate // count
        norms = "" if trial.recipe.sync_norms else f", and {part} images at a time are normalized"
        mixed = trial.recipe.augmentation.mixup or trial.recipe.augmentation.cutmix
        mixing = ", images are mixed with others than before" if mixed else ""
        warn(
            f"the run had {before} process{'es' * (before > 1)} so far and goes on with {count}: "
            f"the batches are the same, sums are taken in another order{mixing}{norms}"
        )


class _Clock:
    """Speed of training between evaluations, which do not count, and memory."""

    def __init__(self, log: StepLog, *, batch: int, device: str) -> None:
        self.log, self.batch, self.device = log, batch, device
        self.began = time.perf_counter()

    def start(self, step: int) -> None:
        self.step, self.started = step, time.perf_counter()

    def stop(self, step: int) -> None:
        self.images_per_second = (step - self.step) * self.batch / (time.perf_counter() - self.started)

    def record(self, step: int) -> dict[str, float]:
        entry = {
            "step": step,
            "seconds": time.perf_counter() - self.began,
            "images_per_second": self.images_per_second,
            "peak_memory_bytes": peak_memory(self.device),
        }
        self.log.append(entry)
        self.start(step)
        return entry


def _name_device(device: str) -> str:
    return torch.cuda.get_device_name() if device.startswith("cuda") else device
