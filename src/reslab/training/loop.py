"""The one training loop. It reads top to bottom; what is trained and how it is judged is the task's business.

Everything that happens in an iteration is a pure function of the trial and the step, dropout included, so a run
stopped anywhere and resumed ends exactly like one never stopped.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from reslab.networks import Network
from reslab.networks.finite import NotFinite
from reslab.runtime.listener import DEAF, Listener
from reslab.spec.recipe import Recipe
from reslab.training.checkpoint import Checkpoint, load_newest, save_checkpoint
from reslab.training.schedule import is_warm, learning_rate, warms_by_error
from reslab.training.state import Tally, TrainingState
from reslab.training.stepping import Runtime, Stepper
from reslab.training.task import Task

SECONDS_BETWEEN_CHECKPOINTS = 60.0


class Stopped(Exception):
    """The run was asked to stop; its state is saved."""


@dataclass
class Position:
    """Where a run is: plain values that go into every checkpoint."""

    step: int = 0
    judged_at: int = 0
    warmed_at: int | None = None
    recent_errors_percent: list[float] = field(default_factory=list)
    best_step: int | None = None
    best_rating: float | None = None
    num_worse: int = 0  # evaluations since the best

    def is_over(self, recipe: Recipe) -> bool:
        """Whether the run has come to its end, or has not become better for so long that it ends here."""
        return self.step >= recipe.iterations or 0 < recipe.stop_after <= self.num_worse


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What a run is given besides the trial: where to write, whom to tell, when to stop.

    `rewind` is told the step a run goes on from, and the step of its last evaluation; `trial` is the run's id, which
    its checkpoints bear. `snapshot` is shown the network to be judged after the iterations `snapshot_at`, 0 among them,
    before the run is saved there; a run that goes on shows those again that came after what was saved.
    """

    checkpoints: Path
    trial: str = ""
    record: Callable[[dict[str, float]], None]
    rewind: Callable[[int, int], None]
    evaluating: Callable[[int, Runtime], None] = lambda step, runtime: None
    listener: Listener = DEAF
    snapshot_at: frozenset[int] = frozenset()
    snapshot: Callable[[int, Network], None] = lambda step, network: None


def fit(stepper: Stepper, around: Surroundings) -> None:
    """Train to the end of the recipe, from the newest checkpoint if there is one.

    Of several processes the first alone reads and writes; all go through the same iterations and decisions.
    """
    position = _resume(stepper.state, around)
    if position.step:
        around.listener.progress(position.step, {})  # there may be nothing left to do
    try:
        _advance_to_the_end(stepper, position, around)
    finally:
        stepper.leave()
    stepper.state.adopt(best=position.best_step is not None)


def _advance_to_the_end(stepper: Stepper, position: Position, around: Surroundings) -> None:
    """Run what is left of the recipe, evaluate and save on the way, and stop early if asked to."""
    state, task, recipe = stepper.state, stepper.task, stepper.recipe
    stepper.network.train()
    state.judged.eval()
    evaluate = task.make_evaluation(state.judged, capture=stepper.runtime.capture)
    metrics: dict[str, float] = {}
    tally = Tally()
    saved_at = time.monotonic()
    if position.step == 0 and 0 in around.snapshot_at and state.processes.first:
        around.snapshot(0, state.judged)
    while not position.is_over(recipe):
        stepper.advance(position.step, warmed_at=position.warmed_at)
        position.step += 1
        if warms_by_error(recipe, position.warmed_at):
            _end_warmup(task, recipe, position, _read(state, task, recipe))
        evaluating = position.step % recipe.evaluate_every == 0 or position.step == recipe.iterations
        due = time.monotonic() - saved_at > SECONDS_BETWEEN_CHECKPOINTS
        stopping, due = state.processes.agree(around.listener.should_stop(), due)
        saving, showing = evaluating or stopping or due, position.step in around.snapshot_at
        if saving or showing or stepper.waiting_is_free:
            tally = _read(state, task, recipe)
        if evaluating:
            around.evaluating(position.step, stepper.runtime)
            metrics = _describe(tally, task, recipe, position) | evaluate()
            if recipe.keep_best is not None:
                metrics |= _choose(state, position, task.rate_choice(metrics))
            state.set_tally(Tally())
            position.judged_at = position.step
            around.record(metrics)
        around.listener.progress(position.step, metrics)
        if showing and state.processes.first:
            around.snapshot(position.step, state.judged)
        if saving:
            if state.processes.first:
                save_checkpoint(around.checkpoints, _checkpoint(state, position, around.trial))
            saved_at = time.monotonic()
        if stopping and not position.is_over(recipe):
            state.processes.agree(True)  # nobody leaves before the first has saved
            raise Stopped


def _read(state: TrainingState, task: Task, recipe: Recipe) -> Tally:
    """Wait for the device; stop the run if something was not finite: its state is as it was before that iteration."""
    tally = state.read_tally()
    if tally.failed_at is not None:
        farther = "recipe.precision=bf16, which has a larger range, or " if recipe.precision == "fp16" else ""
        raise NotFinite(
            f"the loss or a gradient of iteration {tally.failed_at} is not finite, "
            f"on images {task.name_images(tally.failed_at)}; "
            f"checkpoints saved before it are kept; try {farther}a smaller recipe.optimizer.learning_rate or a warm-up"
        )
    return tally


def _end_warmup(task: Task, recipe: Recipe, position: Position, tally: Tally) -> None:
    """End the warm-up where the errors of the last iterations allow it."""
    assert recipe.warmup is not None
    recent = [*position.recent_errors_percent, task.warmup_percent(tally.last, recipe.batch)][-recipe.warmup.window :]
    position.recent_errors_percent = recent
    if is_warm(recipe, recent):
        position.warmed_at, position.recent_errors_percent = position.step, []


def _choose(state: TrainingState, position: Position, rating: float) -> dict[str, float]:
    """Keep what was just evaluated if it is better than all before, and say which is the best."""
    if math.isfinite(rating) and (position.best_rating is None or rating > position.best_rating):
        position.best_step, position.best_rating, position.num_worse = position.step, rating, 0
        state.keep_best()
    else:
        position.num_worse += 1
    return {} if position.best_step is None else {"best_step": position.best_step}


def _describe(tally: Tally, task: Task, recipe: Recipe, position: Position) -> dict[str, float]:
    iterations = position.step - position.judged_at
    warmed: dict[str, float] = {} if position.warmed_at is None else {"warmed_up_after": position.warmed_at}
    return warmed | {
        "step": position.step,
        "images": position.step * recipe.batch,
        "learning_rate": learning_rate(recipe, position.step - 1, warmed_at=position.warmed_at),
        "train_loss": tally.loss / iterations,
        **task.describe_tally(tally.sums, iterations * recipe.batch),
    }


def _checkpoint(state: TrainingState, position: Position, trial: str) -> Checkpoint:
    tally = vars(state.read_tally())
    values = {name: value for name, value in vars(position).items() if name != "step"}
    return Checkpoint(position.step, state.tensors(), values | {"tally": tally}, trial)


def _resume(state: TrainingState, around: Surroundings) -> Position:
    """Load the newest whole checkpoint in place, cut the metric log back to it, and let all processes have it."""
    position = Position()
    if state.processes.first:
        checkpoint = load_newest(around.checkpoints, around.listener, trial=around.trial)
        if checkpoint is not None:
            state.load(checkpoint.tensors)
            values = dict(checkpoint.values)
            state.set_tally(Tally.of(values.pop("tally")))
            position = Position(step=checkpoint.step, **values)
        around.rewind(position.step, position.judged_at)
    state.share()
    return state.processes.ask_first(position)
