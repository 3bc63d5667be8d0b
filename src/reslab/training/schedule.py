"""The learning rate as a pure function of the step and of the step at which the warm-up ended."""

from __future__ import annotations

import math

from reslab.spec.recipe import Recipe


def learning_rate(recipe: Recipe, step: int, *, warmed_at: int | None) -> float:
    """Return the rate of iteration `step` (from 0); `warmed_at` is the first iteration after the warm-up."""
    if recipe.warmup is not None and (warmed_at is None or step < warmed_at):
        return recipe.warmup.learning_rate
    schedule, base = recipe.schedule, recipe.optimizer.learning_rate
    progress = step / recipe.iterations
    if schedule.kind == "steps":
        return base * schedule.factor ** sum(progress >= drop for drop in schedule.drops)
    if schedule.kind == "cosine":
        return base * (1 + math.cos(math.pi * progress)) / 2
    return base


def is_warm(recipe: Recipe, recent_errors_percent: list[float]) -> bool:
    """Whether the training error over the last iterations has fallen far enough for the warm-up to end."""
    if recipe.warmup is None:
        return True
    window = recent_errors_percent[-recipe.warmup.window :]
    return len(window) == recipe.warmup.window and sum(window) / len(window) < recipe.warmup.until_error_percent
