"""The one training loop. It reads top to bottom; what is trained and how it is judged is the task's business.

Everything that happens in an iteration is a pure function of the trial and the step, dropout included, so a run
stopped anywhere and resumed ends exactly like one never stopped.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from reslab.errors import UserError
from reslab.networks import Network
from reslab.spec.recipe import Recipe
from reslab.training.checkpoint import Checkpoint, load_newest, save_checkpoint
from reslab.training.optimizer import PaperSGD
from reslab.training.schedule import is_warm, learning_rate

SECONDS_BETWEEN_CHECKPOINTS = 60.0


class Task(Protocol):
    """What is trained: the loss of one (part of an) iteration, and how the network is judged."""

    def loss(self, network: Network, step: int, part: int) -> tuple[Tensor, Tensor]:
        """Return the mean loss of part `part` of iteration `step`, and how many of its images were wrong."""
        ...

    def evaluate(self, network: Network) -> dict[str, float]:
        """Return named scores."""
        ...

    def name_images(self, step: int) -> str:
        """Say which images iteration `step` sees."""
        ...


class Stopped(Exception):
    """The run was asked to stop; its state is saved."""


@dataclass
class Sums:
    """What the iterations since the last evaluation add up to."""

    loss: float = 0.0
    wrong: int = 0
    iterations: int = 0


@dataclass
class Position:
    """Where a run is: plain values that go into every checkpoint."""

    step: int = 0
    warmed_at: int | None = None
    recent_errors_percent: list[float] = field(default_factory=list)
    sums: Sums = field(default_factory=Sums)


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What a run is given besides the trial: where to write, whom to tell, when to stop."""

    checkpoints: Path
    record: Callable[[dict[str, float]], None]
    rewind: Callable[[int], None]
    evaluating: Callable[[int], None] = lambda step: None
    progress: Callable[[int, dict[str, float]], None] = lambda step, metrics: None
    warn: Callable[[str], None] = lambda sentence: None
    should_stop: Callable[[], bool] = lambda: False


def fit(network: Network, task: Task, recipe: Recipe, *, seed: int, around: Surroundings) -> None:
    """Train `network` to the end of `recipe`, from the newest checkpoint if there is one."""
    optimizer = PaperSGD(network, recipe.optimizer)
    average = _make_average(network, recipe)
    position = _resume(network, optimizer, average, around)
    metrics: dict[str, float] = {}
    saved_at = time.monotonic()
    while position.step < recipe.iterations:
        _iterate(network, task, recipe, optimizer, position, seed=seed)
        if average is not None:
            average.update_parameters(network)
        position.step += 1
        evaluating = position.step % recipe.evaluate_every == 0 or position.step == recipe.iterations
        if evaluating:
            judged = network if average is None else average.module
            assert isinstance(judged, Network)
            around.evaluating(position.step)
            metrics = _judge(judged, task, recipe, position)
            around.record(metrics)
        around.progress(position.step, metrics)
        stopping = around.should_stop()
        if evaluating or stopping or time.monotonic() - saved_at > SECONDS_BETWEEN_CHECKPOINTS:
            save_checkpoint(around.checkpoints, _checkpoint(network, optimizer, average, position))
            saved_at = time.monotonic()
        if stopping and position.step < recipe.iterations:
            raise Stopped
    if average is not None:
        network.load_state_dict(average.module.state_dict())


def _iterate(
    network: Network, task: Task, recipe: Recipe, optimizer: PaperSGD, position: Position, *, seed: int
) -> None:
    """One iteration: forward, backward, update. A loss that is not finite stops the run before the update."""
    network.train()
    torch.manual_seed((seed << 32) + position.step)
    loss_sum, wrong = 0.0, 0
    for part in range(recipe.accumulate):
        loss, part_wrong = task.loss(network, position.step, part)
        (loss / recipe.accumulate).backward()
        loss_sum += loss.item() / recipe.accumulate
        wrong += int(part_wrong)
    if not math.isfinite(loss_sum):
        raise UserError(
            f"the loss of iteration {position.step} is {loss_sum}, on images {task.name_images(position.step)}; "
            "the last good checkpoint is kept: try a smaller recipe.optimizer.learning_rate or a warm-up"
        )
    optimizer.step(learning_rate(recipe, position.step, warmed_at=position.warmed_at))
    position.sums.loss += loss_sum
    position.sums.wrong += wrong
    position.sums.iterations += 1
    if recipe.warmup is not None and position.warmed_at is None:
        recent = [*position.recent_errors_percent, 100 * wrong / recipe.batch][-recipe.warmup.window :]
        position.recent_errors_percent = recent
        if is_warm(recipe, recent):
            position.warmed_at, position.recent_errors_percent = position.step + 1, []


def _judge(network: Network, task: Task, recipe: Recipe, position: Position) -> dict[str, float]:
    sums, position.sums = position.sums, Sums()
    network.eval()
    return {
        "step": position.step,
        "images": position.step * recipe.batch,
        "learning_rate": learning_rate(recipe, position.step - 1, warmed_at=position.warmed_at),
        "train_loss": sums.loss / sums.iterations,
        "train_error_percent": 100 * sums.wrong / (sums.iterations * recipe.batch),
        **task.evaluate(network),
    }


def _make_average(network: Network, recipe: Recipe) -> AveragedModel | None:
    if not recipe.average_decay:
        return None
    return AveragedModel(network, multi_avg_fn=get_ema_multi_avg_fn(recipe.average_decay), use_buffers=True)


def _checkpoint(network: Network, optimizer: PaperSGD, average: AveragedModel | None, position: Position) -> Checkpoint:
    tensors = {f"network.{name}": tensor for name, tensor in network.state_dict().items()}
    tensors |= {f"velocity.{name}": tensor for name, tensor in optimizer.velocities.items()}
    if average is not None:
        tensors |= {f"average.{name}": tensor for name, tensor in average.state_dict().items()}
    values: dict[str, Any] = {
        "warmed_at": position.warmed_at,
        "recent_errors_percent": position.recent_errors_percent,
        "sums": vars(position.sums),
    }
    return Checkpoint(position.step, tensors, values)


def _resume(network: Network, optimizer: PaperSGD, average: AveragedModel | None, around: Surroundings) -> Position:
    """Load the newest whole checkpoint in place and cut the metric log back to it."""
    checkpoint = load_newest(around.checkpoints, around.warn)
    if checkpoint is None:
        around.rewind(0)
        return Position()
    parts: dict[str, dict[str, Tensor]] = {"network": {}, "velocity": {}, "average": {}}
    for name, tensor in checkpoint.tensors.items():
        part, _, rest = name.partition(".")
        parts[part][rest] = tensor
    network.load_state_dict(parts["network"])
    optimizer.load(parts["velocity"])
    if average is not None:
        average.load_state_dict(parts["average"])
    around.rewind(checkpoint.step)
    values = dict(checkpoint.values)
    return Position(step=checkpoint.step, sums=Sums(**values.pop("sums")), **values)
