"""How soon a network is good: seconds of training and test error of `recipe=fast` on CIFAR-10, over seeds.

    python benchmarks/fast.py [--network resnet-56] [--seeds 5] [recipe.label_smoothing=0.2 recipe.epochs=30 ...]
    python benchmarks/fast.py --seeds 5 --beside 94 --json results/fast/resnet-56.json
    python benchmarks/fast.py --grid recipe.optimizer.learning_rate=0.2,0.4,0.8 recipe.epochs=20,40 [--seeds 1]

What counts as training is the time from the first iteration to the last weights, batches and their augmentation
included. Beside it stand preparation (data onto the device, compiling, capture, whose trial iterations are taken back)
and the evaluation of the weights at the end; there is no other. A grid, one row a
combination of its values, looks at the last tenth of the training images, not at the test images.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks import airbench_peer
from benchmarks.arguments import whole
from benchmarks.record import Record, describe_machine
from reslab.data.arrays.dataset import ArrayDataset
from reslab.data.catalogue import load_dataset
from reslab.errors import UserError
from reslab.experiments.starting import initialize
from reslab.experiments.together import settle
from reslab.experiments.trials import read_trial
from reslab.runs.provenance import name_device
from reslab.runtime.execution import choose_device
from reslab.spec.trial import Trial, trial_to_dict
from reslab.tasks.classification.meter import Scores
from reslab.tasks.trial_task import make_task
from reslab.training.stepping import assemble, reproducible

Setting = dict[str, str]
THREADS = torch.get_num_threads()


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one training took and gave; `failed_at` is the iteration whose loss was not finite."""

    seed: int
    preparation_seconds: float
    training_seconds: float
    evaluation_seconds: float
    images_per_second: float
    train_error_percent: float
    error_percent: float
    failed_at: int | None


def train(trial: Trial, dataset: ArrayDataset, *, device: str, compile: bool) -> Outcome:
    """Train as `run_trial` does, without log, checkpoints and the evaluations between, and time each part."""
    moments = [time.perf_counter()]
    recipe, task = trial.recipe, make_task(trial, dataset, device=device)
    stepper = assemble(initialize(trial), task, recipe, seed=trial.seed, device=device, compile=compile)
    network, state = stepper.network, stepper.state
    untouched = state.snapshot()
    stepper.advance(0, warmed_at=None)
    state.restore(untouched)
    state.read_tally()
    moments.append(time.perf_counter())
    last_epoch = max(0, recipe.iterations - max(1, len(task.feed.targets) // recipe.batch))
    for step in range(recipe.iterations):
        if step == last_epoch:
            earlier = state.sums.clone()
        stepper.advance(step, warmed_at=None)
    tally = state.read_tally()
    stepper.leave()
    state.adopt()
    task.take_exact_norms(network)
    _wait(device)
    moments.append(time.perf_counter())
    scores = task.score(network)
    moments.append(time.perf_counter())
    assert isinstance(scores, Scores)
    preparation, training, evaluation = (after - before for before, after in itertools.pairwise(moments))
    wrong = tally.sums["wrong"] - earlier.item()
    return Outcome(
        seed=trial.seed,
        preparation_seconds=preparation,
        training_seconds=training,
        evaluation_seconds=evaluation,
        images_per_second=recipe.iterations * recipe.batch / training,
        train_error_percent=100 * wrong / ((recipe.iterations - last_epoch) * recipe.batch),
        error_percent=scores.error_percent,
        failed_at=tally.failed_at,
    )


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.current_stream().synchronize()


def train_all(
    trials: Sequence[Trial], dataset: ArrayDataset, *, device: str, compile: bool, together: int
) -> Iterator[Outcome]:
    """Yield the outcomes of trials in their order; only one at a time has a time of its own."""
    with reproducible(), ThreadPoolExecutor(together, initializer=settle, initargs=(device, THREADS)) as threads:
        yield from threads.map(lambda trial: train(trial, dataset, device=device, compile=compile), trials)


def make_trials(setting: Setting, dataset: ArrayDataset, *, seeds: int) -> list[Trial]:
    """Make the trials of a setting: fields as `reslab train` takes them."""
    trial = read_trial(setting, dataset)
    if trial.recipe.warmup is not None:
        raise UserError("recipe.warmup ends by the training error, which is not read here; set it to none")
    return [replace(trial, seed=seed) for seed in range(1, seeds + 1)]


def expand(grid: Sequence[str]) -> Iterator[Setting]:
    """Yield every combination of the values given as name=value,value."""
    pairs = [_split(text) for text in grid]
    for values in itertools.product(*[values.split(",") for _, values in pairs]):
        yield dict(zip([name for name, _ in pairs], values, strict=True))


def _split(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UserError(f"'{text}' is no field; write name=value")
    return name, value


def describe(outcomes: Sequence[Outcome]) -> list[str]:
    """Say in a row what the seeds of one setting took and gave, the mean of each."""
    lost = [outcome for outcome in outcomes if outcome.failed_at is not None]
    if lost:
        return [f"not finite at {lost[0].failed_at}"]

    def mean(name: str) -> float:
        return statistics.mean(getattr(outcome, name) for outcome in outcomes)

    errors = [outcome.error_percent for outcome in outcomes]
    spread = f" ± {statistics.stdev(errors):.2f}" if len(errors) > 1 else ""
    return [
        f"{mean('error_percent'):.2f}{spread} ({len(errors)})",
        f"{mean('train_error_percent'):.2f}",
        f"{mean('training_seconds'):.2f}",
        f"{mean('images_per_second'):,.0f}",
        f"{mean('preparation_seconds'):.2f}",
        f"{mean('evaluation_seconds'):.2f}",
    ]


def describe_peer(peer: Mapping[str, Any]) -> str:
    """Say what airbench took and gave, the mean of each."""
    means = {name: statistics.mean(outcome[name] for outcome in peer["outcomes"]) for name in peer["outcomes"][0]}
    return (
        f"{peer['name']} {peer['version']} here: {means['error_percent']:.2f} % ({len(peer['outcomes'])}), "
        f"of one view {means['single_view_error_percent']:.2f} %, in {means['training_seconds']:.2f} s with its test"
    )


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fields", nargs="*", help="recipe.epochs=N, recipe.FIELD=value, network.FIELD=value")
    parser.add_argument("--network", default="resnet-56")
    parser.add_argument("--recipe", default="fast")
    parser.add_argument("--seeds", type=whole, default=1)
    parser.add_argument("--grid", nargs="+", default=[], metavar="name=value,value")
    parser.add_argument("--split", choices=("full", "tuning"), help="full, or for a grid: tuning")
    parser.add_argument("--data", default="cifar10")
    parser.add_argument(
        "--together", type=whole, default=1, help="trials at once: errors sooner, seconds of no meaning"
    )
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--beside", choices=airbench_peer.LEVELS, help="also train airbench of this level, here")
    parser.add_argument("--json", type=Path)
    return parser.parse_args(arguments)


def main() -> None:
    """Train every setting with every seed and print one row a setting."""
    given = parse()
    record = Record(given.json)
    device = choose_device()
    dataset = load_dataset(given.data)
    split = given.split or ("tuning" if given.grid else "full")
    machine = name_device(device)
    about = f"{describe_machine(device)}, {dataset.name}, {split} split"
    console, progress = Console(width=140), Console(stderr=True, width=140)
    asked = " ".join([given.network, f"recipe={given.recipe}", *given.fields])
    console.print(f"{asked}; {about}; means over {given.seeds} seeds", soft_wrap=True)
    basis = {"network": given.network, "recipe": given.recipe, "data.split": split}
    basis |= dict(_split(text) for text in given.fields)
    points = list(expand(given.grid))
    settings = [make_trials(basis | point, dataset, seeds=given.seeds) for point in points]
    columns = ["error %", "last epoch's training error %", "training s", "images/s", "preparation s", "evaluation s"]
    dials = [name.rpartition(".")[2] for name in points[0]]
    table = Table(*dials, *columns, box=None, padding=(0, 3, 0, 0))
    records = []
    every = [trial for trials in settings for trial in trials]
    ending = train_all(every, dataset, device=device, compile=given.compile, together=given.together)
    for point, trials in zip(points, settings, strict=True):
        outcomes = list(itertools.islice(ending, len(trials)))
        row = [*point.values(), *describe(outcomes)]
        table.add_row(*row)
        progress.print("   ".join(row), highlight=False)
        records.append({"trial": trial_to_dict(trials[0]), "outcomes": [asdict(outcome) for outcome in outcomes]})
        record.keep(device=machine, settings=records)
    console.print(table)
    if given.beside:
        peer = airbench_peer.measure_beside(given.beside, seeds=given.seeds)
        record.keep(device=machine, settings=records, beside=peer)
        console.print(describe_peer(peer), soft_wrap=True)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"fast.py: {error}")
