"""What hangs on the step, as pure functions of it: the learning rate, and when snapshots are taken."""

import math
import re

from reslab.errors import UserError
from reslab.spec.recipe import Recipe


def learning_rate(recipe: Recipe, step: int, *, warmed_at: int | None) -> float:
    """Return the rate of iteration `step` (from 0); `warmed_at` is the first after a warm-up by the training error."""
    warmup = recipe.warmup
    if warmup is None:
        return _scheduled_rate(recipe, step)
    if warmup.is_by_error:
        return warmup.learning_rate if warmed_at is None or step < warmed_at else _scheduled_rate(recipe, step)
    risen = min(1.0, step / warmup.iterations)
    return (warmup.initial + (1 - warmup.initial) * risen) * _scheduled_rate(recipe, step)


def warms_by_error(recipe: Recipe, warmed_at: int | None) -> bool:
    """Whether the outcome of an iteration decides on the next one's rate."""
    return recipe.warmup is not None and recipe.warmup.is_by_error and warmed_at is None


def _scheduled_rate(recipe: Recipe, step: int) -> float:
    schedule, base, progress = recipe.schedule, recipe.optimizer.learning_rate, step / recipe.iterations
    if schedule.kind == "constant":
        return base
    if schedule.kind == "steps":
        return base * schedule.factor ** sum(progress >= drop for drop in schedule.drops)
    left = 1 - progress
    if schedule.kind == "one-cycle":
        # At the middle of the iteration: at its start the first would learn nothing, at its end the last.
        progress = (step + 0.5) / recipe.iterations
        if progress < schedule.rise:
            return base * (progress / schedule.rise)
        left = (1 - progress) / (1 - schedule.rise)
    linear = schedule.kind == "one-cycle" and schedule.fall == "linear"
    height = left if linear else (1 - math.cos(math.pi * left)) / 2
    return base * (schedule.final + (1 - schedule.final) * height)


def is_warm(recipe: Recipe, recent_errors_percent: list[float]) -> bool:
    """Whether the training error over the last iterations has fallen far enough for the warm-up to end."""
    if recipe.warmup is None:
        return True
    window = recent_errors_percent[-recipe.warmup.window :]
    return len(window) == recipe.warmup.window and sum(window) / len(window) < recipe.warmup.until_error_percent


def read_snapshots(text: str, iterations: int) -> frozenset[int]:
    """Return the steps after which snapshots are wanted: "1000,2000" are steps, "0.1,0.5,1" parts of the run.

    That of step 0 is what the training starts from.
    """
    words = [word.strip() for word in text.split(",")]
    parts = any("." in word for word in words)
    if all(re.fullmatch(r"\d+\.?\d*|\.\d+", word) for word in words):
        steps = frozenset(round(float(word) * iterations) if parts else int(word) for word in words)
        if max(steps) <= iterations:
            return steps
    raise UserError(
        f"snapshots are {text!r}; give steps from 0 to {iterations}, such as 1000,2000, "
        "or fractions of the run, such as 0.1,0.5,1"
    )
