"""The learning rate as a pure function of the step and of the step at which the warm-up ended."""

from __future__ import annotations

import math

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
        return base * (1 + math.cos(math.pi * progress)) / 2
    if schedule.kind == "one-cycle":
        # At the middle of the iteration: at its start the first would learn nothing, at its end the last.
        return base * _one_cycle(schedule, (step + 0.5) / recipe.iterations)
    return base


def _one_cycle(schedule: ScheduleSpec, progress: float) -> float:
    """Return the fraction of the full rate: up to 1 in a straight line, then down to the final one."""
    if progress < schedule.rise:
        return progress / schedule.rise
    left = (1 - progress) / (1 - schedule.rise)
    height = left if schedule.fall == "linear" else (1 - math.cos(math.pi * left)) / 2
    return schedule.final + (1 - schedule.final) * height


def is_warm(recipe: Recipe, recent_errors_percent: list[float]) -> bool:
    """Whether the training error over the last iterations has fallen far enough for the warm-up to end."""
    if recipe.warmup is None:
        return True
    window = recent_errors_percent[-recipe.warmup.window :]
    return len(window) == recipe.warmup.window and sum(window) / len(window) < recipe.warmup.until_error_percent
