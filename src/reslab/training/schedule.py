"""What changes with the step, as pure functions of it: the learning rate, and the side of the training crops."""

from __future__ import annotations

import math

from reslab.spec.recipe import Recipe, ScheduleSpec

SIDE_MULTIPLE = 32  # pixels: what the ImageNet networks stride over


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


def crop_side(recipe: Recipe, step: int, *, whole: int) -> int:
    """Return the side of the training crops of iteration `step`, where those of the network are `whole`."""
    return next(side for first, side in reversed(crop_stages(recipe, whole=whole)) if step >= first)


def crop_stages(recipe: Recipe, *, whole: int) -> list[tuple[int, int]]:
    """Return the first iteration of every stage of progressive resizing, and the side of its crops."""
    initial, last = recipe.resizing.initial, recipe.resizing.stages - 1
    if initial == 1:
        return [(0, whole)]
    sides = [whole * (initial + (1 - initial) * stage / last) for stage in range(last)]
    # Halves go up, where Python's round would go to the even one.
    rounded = [max(1, math.floor(side / SIDE_MULTIPLE + 0.5)) * SIDE_MULTIPLE for side in sides]
    firsts = [recipe.iterations * stage // (last + 1) for stage in range(last + 1)]
    return list(zip(firsts, [*[min(whole, side) for side in rounded], whole], strict=True))
