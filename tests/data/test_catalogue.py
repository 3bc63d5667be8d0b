"""Datasets by name."""

from __future__ import annotations

import pytest

from reslab.cli.trials import RECIPE_OF
from reslab.data.catalogue import LOADERS, load_dataset
from reslab.errors import UserError
from reslab.spec.recipe import RECIPES


def test_unknown_datasets_are_told() -> None:
    """With the nearest name."""
    with pytest.raises(UserError, match="did you mean 'cifar10'"):
        load_dataset("cifar1")


def test_every_dataset_has_a_recipe() -> None:
    """One that exists; house numbers are not flipped."""
    assert RECIPE_OF.keys() == LOADERS.keys()
    assert all(recipe in RECIPES for recipe in RECIPE_OF.values())
    assert RECIPES[RECIPE_OF["svhn"]].augmentation.flip is False
