"""Progressive resizing: the side of the training crops, as a pure function of the step."""

import math

from reslab.spec.recipe import Recipe

SIDE_MULTIPLE = 32  # pixels: what the ImageNet networks stride over


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
