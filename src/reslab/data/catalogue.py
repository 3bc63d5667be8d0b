"""Datasets by name."""

from __future__ import annotations

from functools import partial

from reslab.data.dataset import Dataset
from reslab.data.digits import load_digits
from reslab.data.sources import PUBLISHED
from reslab.data.store import load_published
from reslab.errors import UserError, suggest

LOADERS = {
    "digits": load_digits,
    **{name: partial(load_published, dataset) for name, dataset in PUBLISHED.items()},
}


def load_dataset(name: str) -> Dataset:
    """Load a dataset by its name."""
    if name not in LOADERS:
        raise UserError(f"there is no dataset '{name}'{suggest(name, LOADERS) or '; there are ' + ', '.join(LOADERS)}")
    return LOADERS[name]()
