"""What a run will need, told before it starts: steps, time, memory, disk.

Time comes from a few real steps of a scratch network, budgeted to a second or two; memory and disk from counting.
Evaluations are in; augmentation, the optimizer and what a device's libraries take for themselves are not.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from reslab.data.dataset import Dataset, Split
from reslab.data.memory import free_memory, used_memory
from reslab.data.streaming import is_resident, padded_bytes
from reslab.errors import UserError
from reslab.experiments.classification import TUNING_PARTS, make_task
from reslab.networks import build, measure_cost
from reslab.networks.execution import Execution
from reslab.networks.timing import Timing, measure_time
from reslab.runs.directory import RunDirectory
from reslab.spec.recipe import Recipe
from reslab.spec.trial import Trial
from reslab.training.checkpoint import KEPT
from reslab.training.state import TrainingState
from reslab.training.stepping import Stepper, choose_runtime, reproducible

SECONDS = 2.0  # for measuring
ENOUGH = 10  # measurements
FEW = 4  # images to begin with
HEADER_BYTES = 110  # a tensor, in a safetensors file
EVALUATION_BYTES = 750  # in the metric log, the timings and the event file
RESULT_BYTES = 10  # a cell of the confusion matrix
OTHER_BYTES = 6_000


@dataclass(frozen=True, kw_only=True)
class Speed:
    """Seconds for one training iteration, and for testing one image."""

    iteration_seconds: float
    test_seconds: float


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What is left of a run and what it takes; `disk_bytes` is what it comes to in the end."""

    iterations: int
    done: int
    epochs: float
    seconds: float
    memory_bytes: int
    disk_bytes: int
    checkpoint_bytes: int


def estimate_run(trial: Trial, dataset: Dataset, run: RunDirectory, *, speed: Speed, device: str) -> Estimate:
    """Estimate what `trial` needs from where `run` stands."""
    recipe = trial.recipe
    held_back = len(dataset.train) // TUNING_PARTS if trial.data.split == "tuning" else 0
    done = steps_done(run)
    left = recipe.iterations - done
    evaluations = -(-recipe.iterations // recipe.evaluate_every)
    still = evaluations - done // recipe.evaluate_every
    tensors = build(trial.network, device="meta")
    weights = _count_bytes(tensors.state_dict())
    parameters = _count_bytes(dict(tensors.named_parameters()))
    average = weights if recipe.average_decay else 0
    checkpoint = weights + parameters + average
    papers = evaluations * EVALUATION_BYTES + trial.network.classes**2 * RESULT_BYTES + OTHER_BYTES
    activations = _count_activations(trial, parameters)
    padding = recipe.augmentation.padding
    splits = [split for split in (dataset.train, dataset.test) if is_resident(split, padding, device)]
    data = sum(padded_bytes(split, padding) for split in splits)
    return Estimate(
        iterations=recipe.iterations,
        done=done,
        epochs=recipe.iterations * recipe.batch / (len(dataset.train) - held_back),
        seconds=left * speed.iteration_seconds + still * (held_back or len(dataset.test)) * speed.test_seconds,
        # Besides the weights: gradients as they arise and gathered, velocities, and room to update in.
        memory_bytes=used_memory(device) + weights + 4 * parameters + average + activations + data,
        disk_bytes=KEPT * checkpoint + weights + papers,
        checkpoint_bytes=checkpoint,
    )


def measure_speed(trial: Trial, *, device: str) -> Speed:
    """Time a scratch network on random images: a few first, then as many of an iteration's as there is time for."""
    if device.startswith("cuda"):
        return _measure_captured(trial, device=device)
    recipe = trial.recipe
    execution = Execution(channels_last=recipe.channels_last, precision=recipe.precision)
    with torch.random.fork_rng(devices=()):
        network = build(trial.network)

        def fastest(count: int) -> Timing:
            """The fastest of what there is time for, and not the first: another process's turn is not our speed."""
            images = torch.randn(count, *trial.network.input_shape)
            timings, began = [], time.perf_counter()
            while len(timings) < 2 or (len(timings) < ENOUGH and time.perf_counter() - began < SECONDS / 2):
                timings.append(measure_time(network, images, execution=execution, repeats=1, warmup=0))
            return Timing(
                forward_seconds=min(timing.forward_seconds for timing in timings),
                step_seconds=min(timing.step_seconds for timing in timings),
            )

        size = min(part_of(recipe), FEW)
        timing = fastest(size)
        fitting = int(size * SECONDS / 8 / timing.step_seconds)
        if min(part_of(recipe), fitting) > size:
            size = min(part_of(recipe), fitting)
            timing = fastest(size)
    return Speed(
        iteration_seconds=timing.step_seconds * recipe.batch / size, test_seconds=timing.forward_seconds / size
    )


def _measure_captured(trial: Trial, *, device: str) -> Speed:
    """Time iterations as they will run there, captured, and the testing of a batch."""
    black = Split(
        np.zeros((trial.recipe.batch, *trial.network.input_shape), np.uint8), np.zeros(trial.recipe.batch, np.uint8)
    )
    dataset = Dataset(name="black", class_names=("",), train=black, test=black)
    trial = replace(trial, data=replace(trial.data, split="full"))
    with torch.random.fork_rng(), reproducible():
        network = build(trial.network).to(device).train()
        task = make_task(trial, dataset, device=device)
        task.execution.prepare_network(network)
        state = TrainingState(network, trial.recipe)
        stepper = Stepper(state, task, trial.recipe, seed=0, runtime=choose_runtime(network, trial.recipe, device))

        def seconds(run: Callable[[], object]) -> float:
            torch.cuda.synchronize()
            began = time.perf_counter()
            run()
            torch.cuda.synchronize()
            return time.perf_counter() - began

        stepper.advance(0, warmed_at=0)
        task.score(state.judged)
        steps = [seconds(lambda: stepper.advance(0, warmed_at=0)) for _ in range(ENOUGH)]
        tests = [seconds(lambda: task.score(state.judged)) for _ in range(2)]
    return Speed(iteration_seconds=min(steps), test_seconds=min(tests) / len(black))


def check_room(estimate: Estimate, run: RunDirectory, *, device: str) -> str | None:
    """Refuse a run for which the disk has no room; return a warning where memory looks short."""
    there = sum(path.stat().st_size for path in run.path.rglob("*") if path.is_file())
    needed = estimate.disk_bytes + estimate.checkpoint_bytes - there
    place = next(path for path in (run.path, *run.path.absolute().parents) if path.is_dir())
    if needed > (free := shutil.disk_usage(place).free):
        raise UserError(
            f"{run.path} needs {_megabytes(needed)} of disk and {_megabytes(free)} are free; "
            "free some space or choose another place with --runs"
        )
    if (more := estimate.memory_bytes - used_memory(device)) > (free := free_memory(device)):
        return (
            f"training needs about {_megabytes(more)} of memory more and {_megabytes(free)} are free; "
            "recipe.accumulate=2 or network.checkpointing=true need less"
        )
    return None


def steps_done(run: RunDirectory) -> int:
    """Return the step of the newest checkpoint."""
    return max((int(path.stem.removeprefix("step-")) for path in run.checkpoints.glob("step-*.safetensors")), default=0)


def part_of(recipe: Recipe) -> int:
    """Return how many images go through the network at once."""
    return recipe.batch // recipe.accumulate


def _count_bytes(tensors: dict[str, Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() + HEADER_BYTES for tensor in tensors.values())


def _count_activations(trial: Trial, parameters: int) -> int:
    """Bytes kept for the backward pass; in bf16 half of them, and a cast copy of every kernel."""
    kept = measure_cost(trial.network).activation_bytes * part_of(trial.recipe)
    return kept if trial.recipe.precision == "fp32" else (kept + parameters) // 2


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"
