"""Datasets by name, and folders of photographs by their path."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from reslab.data.dataset import Dataset
from reslab.data.digits import load_digits
from reslab.data.photos.folder import PhotoDataset
from reslab.data.photos.reading import read_photos
from reslab.data.sources import PUBLISHED
from reslab.data.store import load_published
from reslab.errors import UserError, suggest
from reslab.files import is_folder

LOADERS = {
    "digits": load_digits,
    **{name: partial(load_published, dataset) for name, dataset in PUBLISHED.items()},
}


def load_dataset(name: str) -> Dataset:
    """Load a dataset by its name."""
    if name not in LOADERS:
        raise UserError(f"there is no dataset '{name}'{suggest(name, LOADERS) or '; there are ' + ', '.join(LOADERS)}")
    return LOADERS[name]()


def open_data(text: str, *, held_out_seed: int = 0) -> Dataset | PhotoDataset:
    """Load a dataset by its name, or read the photographs at a path."""
    if text in LOADERS:
        return LOADERS[text]()
    if text and is_folder(Path(text)):
        return read_photos(Path(text), seed=held_out_seed)
    known = suggest(text, LOADERS) or f"; there are {', '.join(LOADERS)}, and folders such as data=FOLDER"
    raise UserError(f"'{text}' is neither a dataset nor a folder of photographs{known}")
