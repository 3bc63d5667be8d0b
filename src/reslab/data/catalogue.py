"""Datasets by name."""

from __future__ import annotations

from reslab.data.cifar10 import load_cifar10
from reslab.data.dataset import Dataset
from reslab.data.digits import load_digits
from reslab.errors import UserError, suggest

LOADERS = {"digits": load_digits, "cifar10": load_cifar10}


def load_dataset(name: str) -> Dataset:
    """Load a dataset by its name."""
    if name not in LOADERS:
        raise UserError(f"there is no dataset '{name}'{suggest(name, LOADERS) or '; there are ' + ', '.join(LOADERS)}")
    return LOADERS[name]()
