"""What a run will need, told before it starts: steps, time, memory, disk.

Time comes from a few real steps of a scratch network, budgeted to a second or two; memory and disk from counting.
Evaluations, exact statistics and what is frozen are in; augmentation, the optimizer's time and what a device's
libraries take for themselves are not.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from reslab.data.arrays.dataset import ArrayDataset
from reslab.data.arrays.split import ArraySplit
from reslab.data.dataset import Dataset, count_held_back, count_trained
from reslab.data.photos.resizing import crop_stages
from reslab.experiments.sizes import MOMENTS, count_copies, measure_sizes, part_of, telling_of_memory, trial_bytes
from reslab.networks import Network, build
from reslab.networks.freezing import freeze
from reslab.paper.measurements import LATENCY
from reslab.runs.directory import RunDirectory
from reslab.runtime.execution import Execution
from reslab.runtime.memory import used_memory
from reslab.runtime.timing import Timing, measure_usual
from reslab.spec.recipe import Recipe
from reslab.spec.trial import Trial
from reslab.tasks.latency import PASSES
from reslab.tasks.task import find_task
from reslab.tasks.trial_task import make_task
from reslab.training.checkpoint import KEPT, newest_step
from reslab.training.stepping import assemble, reproducible

SECONDS = 2.0  # for measuring
ENOUGH = 10  # measurements
FEW = 4  # images to begin with
EVALUATION_BYTES = 750  # in the metric log, the timings and the event file
RESULT_BYTES = 10  # a number of the result, of which there may be one for every two classes
OTHER_BYTES = 6_000


@dataclass(frozen=True, kw_only=True)
class Speed:
    """Seconds for one training iteration, and for testing one image."""

    iteration_seconds: float
    test_seconds: float


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What is left of a run and what it takes; `disk_bytes` is what it comes to in the end.

    Of several runs it is their sums, one after the other, and the memory of as many at a time as are wanted.
    """

    iterations: int
    done: int
    epochs: float
    seconds: float
    memory_bytes: int
    disk_bytes: int


@dataclass(frozen=True)
class DiskNeeds:
    """What a run comes to on disk, and what one of its checkpoints takes."""

    total_bytes: int
    checkpoint_bytes: int


def estimate_run(trial: Trial, dataset: Dataset, run: RunDirectory, *, speed: Speed, device: str) -> Estimate:
    """Estimate what `trial` needs from where `run` stands."""
    recipe = trial.recipe
    trained, held_back = count_trained(dataset.train, trial.data), count_held_back(dataset.train, trial.data.split)
    judged = (held_back or len(dataset.test)) + len(dataset.train) - held_back - trained
    done = newest_step(run.checkpoints)
    evaluations = -(-recipe.iterations // recipe.evaluate_every)
    still = evaluations - done // recipe.evaluate_every + 1  # the saved weights are tested once more, for all scores
    tested = still * judged + (trained if recipe.exact_norms else 0)  # an epoch, forward only
    data = dataset.count_bytes(trial, device=device)
    return Estimate(
        iterations=recipe.iterations,
        done=done,
        epochs=recipe.iterations * recipe.batch / trained,
        seconds=_whole_iterations(trial, done) * speed.iteration_seconds + tested * speed.test_seconds,
        memory_bytes=used_memory(device) + trial_bytes(trial, device=device) + data,
        disk_bytes=disk_needs(trial).total_bytes,
    )


def disk_needs(trial: Trial) -> DiskNeeds:
    """Count what a run of a trial comes to on disk."""
    recipe, sizes = trial.recipe, measure_sizes(trial)
    copies = count_copies(recipe) * sizes.weight_bytes
    checkpoint = sizes.weight_bytes + MOMENTS[recipe.optimizer.kind] * sizes.parameter_bytes + copies
    evaluations = -(-recipe.iterations // recipe.evaluate_every)
    papers = evaluations * EVALUATION_BYTES + trial.network.classes**2 * RESULT_BYTES + OTHER_BYTES
    return DiskNeeds(KEPT * checkpoint + sizes.weight_bytes + papers, checkpoint)


def _whole_iterations(trial: Trial, done: int) -> float:
    """Return what is left in iterations on crops of the whole size; smaller ones take time by their area."""
    recipe, whole = trial.recipe, trial.network.input_shape[-1]
    stages = crop_stages(recipe, whole=whole)
    ends = [*[first for first, _ in stages[1:]], recipe.iterations]
    lengths = [max(0, end - max(first, done)) for (first, _), end in zip(stages, ends, strict=True)]
    return sum(length * (side / whole) ** 2 for length, (_, side) in zip(lengths, stages, strict=True))


def estimate_set(trials: Sequence[Trial], dataset: Dataset, root: Path, *, together: int, device: str) -> Estimate:
    """Estimate what unfinished trials need in all, `together` of them at a time; one trial is there at least.

    The smallest network of those that run alike is timed, and the others are taken to be slower as their multiply-adds
    are more.
    """

    def work(trial: Trial) -> float:
        return measure_sizes(trial).multiply_adds

    smallest: dict[object, Trial] = {}
    for trial in sorted(trials, key=work):
        smallest.setdefault(_kind(trial.recipe), trial)
    speeds = {kind: measure_speed(trial, device=device) for kind, trial in smallest.items()}
    estimates = []
    for trial in trials:
        first, speed = smallest[_kind(trial.recipe)], speeds[_kind(trial.recipe)]
        image = work(trial) / work(first)
        scaled = Speed(
            iteration_seconds=speed.iteration_seconds * image * trial.recipe.batch / first.recipe.batch,
            test_seconds=speed.test_seconds * image,
        )
        run = RunDirectory.of(trial, root)
        estimates.append(estimate_run(trial, dataset, run, speed=scaled, device=device))
    needs = sorted((trial_bytes(trial, device=device) for trial in trials), reverse=True)
    data = max(dataset.count_bytes(trial, device=device) for trial in trials)
    sums = {name: sum(getattr(one, name) for one in estimates) for name in Estimate.__dataclass_fields__}
    return Estimate(**sums | {"memory_bytes": used_memory(device) + data + sum(needs[:together])})


def estimate_tests(tests: Sequence[tuple[str, Trial]], dataset: Dataset, *, device: str) -> float:
    """Estimate the seconds of tests, each of a trial's network on all test images, by a protocol or an instrument.

    The latency is that of a few images. The smallest network is timed, and the others are taken to be slower as their
    multiply-adds are more.
    """
    work = {trial: measure_sizes(trial).multiply_adds for _, trial in tests}
    smallest = min(work, key=work.__getitem__)
    images = {by: PASSES if by == LATENCY else len(dataset.test) for by, _ in tests}
    looks = sum(images[by] * find_task(trial.task).count_looks(by) * work[trial] for by, trial in tests)
    return looks / work[smallest] * measure_speed(smallest, device=device).test_seconds


def _kind(recipe: Recipe) -> object:
    """Return what the speed of a network hangs on besides its size."""
    return recipe.precision, recipe.channels_last, recipe.accumulate, recipe.freeze


@telling_of_memory()
def measure_speed(trial: Trial, *, device: str) -> Speed:
    """Time a scratch network on random images: a few first, then as many of an iteration's as there is time for.

    What is beyond those is reckoned from both: an image costs less among many than among few.
    """
    if device.startswith("cuda") and not trial.task.own_layers:
        return _measure_captured(trial, device=device)
    recipe = trial.recipe
    execution = Execution(channels_last=recipe.channels_last, precision=recipe.precision)
    with torch.random.fork_rng(devices=()):
        network = _build(trial).to(device)

        def usual(count: int) -> Timing:
            images = torch.randn(count, *trial.task.find_input_shape(trial.network), device=device)
            return measure_usual(
                network,
                images,
                execution=execution,
                forward_precision="fp32",  # whatever a network is trained in, it is tested in that
                seconds=SECONDS / 2,
                most=ENOUGH,
            )

        part = part_of(recipe)
        few = size = min(part, FEW if trial.task.sides is None else 1)  # a whole image is as large as many crops
        first = timing = usual(few)
        fitting = int(few * SECONDS / 8 / first.step_seconds)
        twice = 2 * few if first.step_seconds < SECONDS else few
        if min(part, max(fitting, twice)) > few:
            size = min(part, max(fitting, twice))
            timing = usual(size)

    def an_image(few_seconds: float, seconds: float) -> float:
        """What one image among `part` takes; noise may not make the rest dearer, or cheaper than half."""
        more = (seconds - few_seconds) / (size - few) if size > few else seconds / size
        more = min(max(more, seconds / size / 2), seconds / size)
        return (seconds + more * (part - size)) / part

    return Speed(
        iteration_seconds=an_image(first.step_seconds, timing.step_seconds) * recipe.batch,
        test_seconds=an_image(first.forward_seconds, timing.forward_seconds),
    )


def _build(trial: Trial) -> Network:
    network = build(trial.network, task=trial.task)
    if trial.recipe.freeze is not None:
        freeze(network, trial.recipe.freeze)
    return network


def _measure_captured(trial: Trial, *, device: str) -> Speed:
    """Time iterations as they will run there, captured, and the testing of a batch."""
    black = ArraySplit(
        np.zeros((trial.recipe.batch, *trial.network.input_shape), np.uint8), np.zeros(trial.recipe.batch, np.uint8)
    )
    dataset = ArrayDataset(name="black", class_names=("",), train=black, test=black)
    trial = replace(trial, data=replace(trial.data, split="full", validation=0))
    with torch.random.fork_rng(), reproducible():
        task = make_task(trial, dataset, device=device)
        stepper = assemble(_build(trial), task, trial.recipe, seed=0, device=device)

        def seconds(run: Callable[[], object]) -> float:
            torch.cuda.synchronize()
            began = time.perf_counter()
            run()
            torch.cuda.synchronize()
            return time.perf_counter() - began

        evaluate = task.make_evaluation(stepper.state.judged, capture=stepper.runtime.capture)
        stepper.advance(0, warmed_at=0)
        evaluate()
        steps = [seconds(lambda: stepper.advance(0, warmed_at=0)) for _ in range(ENOUGH)]
        tests = [seconds(evaluate) for _ in range(2)]
    return Speed(iteration_seconds=min(steps), test_seconds=min(tests) / len(black))
