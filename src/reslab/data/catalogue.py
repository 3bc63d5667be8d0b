"""Datasets by name, and folders of photographs by their path."""

from functools import partial
from pathlib import Path

from reslab.data.arrays.dataset import ArrayDataset
from reslab.data.arrays.digits import load_digits
from reslab.data.arrays.sources import PUBLISHED
from reslab.data.arrays.store import load_published
from reslab.data.dataset import Dataset
from reslab.data.photos.reader import read_photos
from reslab.errors import UserError, suggest
from reslab.files import is_folder
from reslab.spec.trial import DataSpec

LOADERS = {
    "digits": load_digits,
    **{name: partial(load_published, dataset) for name, dataset in PUBLISHED.items()},
}


def load_dataset(name: str) -> ArrayDataset:
    """Load a dataset by its name."""
    if name not in LOADERS:
        raise UserError(f"there is no dataset '{name}'{suggest(name, LOADERS) or '; there are ' + ', '.join(LOADERS)}")
    return LOADERS[name]()


def open_data(text: str, *, held_out_seed: int = 0, known: DataSpec | None = None) -> Dataset:
    """Load a dataset by its name, or read the photographs at a path.

    `known` is what a trial says of its data: photographs are read as they were for it, if they still are there.
    """
    if text in LOADERS:
        return LOADERS[text]()
    if text and is_folder(Path(text)):
        return read_photos(Path(text), seed=held_out_seed, known=known)
    known_names = suggest(text, LOADERS) or f"; there are {', '.join(LOADERS)}, and folders such as data=FOLDER"
    raise UserError(f"'{text}' is neither a dataset nor a folder of photographs{known_names}")
