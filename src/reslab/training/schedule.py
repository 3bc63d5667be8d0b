"""What hangs on the step, as pure functions of it: the learning rate, and when snapshots are taken."""

from __future__ import annotations

import math
import re

from reslab.errors import UserError
from reslab.spec.recipe import Recipe, ScheduleSpec


def learning_rate(recipe: Recipe, step: int, *, warmed_at: int | None) -> float:
    """Return the rate of iteration `step` (from 0); `warmed_at` is the first iteration after the warm-up."""
    if recipe.warmup is not None and (warmed_at is None or step < warmed_at):
        return recipe.warmup.learning_rate
    schedule, base = recipe.schedule, recipe.optimizer.learning_rate
    progress = step / recipe.iterations
    if schedule.kind == "steps":
        return base * schedule.factor ** sum(progress >= drop for drop in schedule.drops)
    if schedule.kind == "cosine":
        return base * _fall_to(schedule.final, _half_cosine(1 - progress))
    if schedule.kind == "one-cycle":
        # At the middle of the iteration: at its start the first would learn nothing, at its end the last.
        return base * _one_cycle(schedule, (step + 0.5) / recipe.iterations)
    return base


def _one_cycle(schedule: ScheduleSpec, progress: float) -> float:
    """Return the fraction of the full rate: up to 1 in a straight line, then down to the final one."""
    if progress < schedule.rise:
        return progress / schedule.rise
    left = (1 - progress) / (1 - schedule.rise)
    return _fall_to(schedule.final, left if schedule.fall == "linear" else _half_cosine(left))


def _half_cosine(left: float) -> float:
    return (1 - math.cos(math.pi * left)) / 2


def _fall_to(final: float, height: float) -> float:
    return final + (1 - final) * height


def is_warm(recipe: Recipe, recent_errors_percent: list[float]) -> bool:
    """Whether the training error over the last iterations has fallen far enough for the warm-up to end."""
    if recipe.warmup is None:
        return True
    window = recent_errors_percent[-recipe.warmup.window :]
    return len(window) == recipe.warmup.window and sum(window) / len(window) < recipe.warmup.until_error_percent


def read_snapshots(text: str, iterations: int) -> frozenset[int]:
    """Return the steps after which snapshots are wanted: "1000,2000" are steps, "0.1,0.5,1" parts of the run."""
    words = [word.strip() for word in text.split(",")]
    parts = any("." in word for word in words)
    if all(re.fullmatch(r"\d+\.?\d*|\.\d+", word) for word in words):
        steps = frozenset(round(float(word) * iterations) if parts else int(word) for word in words)
        if min(steps) >= 1 and max(steps) <= iterations:
            return steps
    raise UserError(
        f"snapshots are {text!r}; give steps from 1 to {iterations}, such as 1000,2000, "
        "or parts of the run with a dot, such as 0.1,0.5,1"
    )
