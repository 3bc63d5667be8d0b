"""Recipes, the paper's to the letter."""

from __future__ import annotations

import pytest

from reslab.errors import UserError
from reslab.spec.recipe import find_recipe


def test_the_papers_recipe() -> None:
    """Section 4.2: SGD 0.1, momentum 0.9, decay 1e-4, batch 128, 64k iterations, pad 4, flips, no dropout."""
    recipe = find_recipe("cifar-paper")
    assert (recipe.iterations, recipe.batch, recipe.schedule.drops) == (64_000, 128, (0.5, 0.75))
    optimizer = recipe.optimizer
    assert (optimizer.learning_rate, optimizer.momentum, optimizer.weight_decay) == (0.1, 0.9, 1e-4)
    assert (recipe.augmentation.padding, recipe.augmentation.flip, recipe.warmup) == (4, True, None)
    assert recipe.precision == "fp32"


def test_110_layers_warm_up() -> None:
    """0.01 until the training error is below 80 %."""
    warmup = find_recipe("cifar-paper-110").warmup
    assert warmup is not None
    assert (warmup.learning_rate, warmup.until_error_percent, warmup.window) == (0.01, 80.0, 100)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"iterations": 0}, "recipe.iterations is 0"),
        ({"accumulate": 3}, "must divide the batch of 128"),
        ({"schedule.drops": "[32000]"}, "fractions of the run"),
        ({"label_smoothing": 1.0}, "recipe.label_smoothing is 1.0"),
        ({"lr": 0.1}, "there is no field 'lr'"),
        ({"schedule.kind": "steep"}, "choose steps, cosine or constant"),
    ],
)
def test_mistakes_are_named(changes: dict[str, object], sentence: str) -> None:
    """The field, its value and the remedy."""
    with pytest.raises(UserError, match=sentence):
        find_recipe("cifar-paper", changes)


def test_unknown_recipes_are_told() -> None:
    """With the nearest one."""
    with pytest.raises(UserError, match="did you mean 'cifar-paper'"):
        find_recipe("cifar-papr")
