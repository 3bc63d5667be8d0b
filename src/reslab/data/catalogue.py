"""Datasets by name, and folders of photographs by their path."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from reslab.data.dataset import Dataset, Split
from reslab.data.digits import load_digits
from reslab.data.photos.folder import PhotoDataset, PhotoSplit
from reslab.data.photos.reading import read_as_before, read_photos
from reslab.data.sources import PUBLISHED
from reslab.data.store import load_published
from reslab.errors import UserError, suggest
from reslab.files import is_folder
from reslab.spec.trial import DataSpec

LOADERS = {
    "digits": load_digits,
    **{name: partial(load_published, dataset) for name, dataset in PUBLISHED.items()},
}


def load_dataset(name: str) -> Dataset:
    """Load a dataset by its name."""
    if name not in LOADERS:
        raise UserError(f"there is no dataset '{name}'{suggest(name, LOADERS) or '; there are ' + ', '.join(LOADERS)}")
    return LOADERS[name]()


def open_data(text: str, *, held_out_seed: int = 0, known: DataSpec | None = None) -> Dataset | PhotoDataset:
    """Load a dataset by its name, or read the photographs at a path.

    `known` is what a trial says of its data: photographs are read as they were for it, if they still are there.
    """
    if text in LOADERS:
        return LOADERS[text]()
    if text and is_folder(Path(text)):
        return read_photos(Path(text), seed=held_out_seed, known=known)
    known_names = suggest(text, LOADERS) or f"; there are {', '.join(LOADERS)}, and folders such as data=FOLDER"
    raise UserError(f"'{text}' is neither a dataset nor a folder of photographs{known_names}")


def open_as_before(dataset: Dataset | PhotoDataset, *, held_out_seed: int) -> Iterator[Dataset | PhotoDataset]:
    """Yield what earlier versions made of the same data, where that was something else."""
    if isinstance(dataset, PhotoDataset) and dataset.may_differ_before:
        yield from read_as_before(dataset.root, seed=held_out_seed)


def find_trained(dataset: Dataset | PhotoDataset, before: DataSpec) -> Split | PhotoSplit | None:
    """Return the images that a training on `before` trained on; None where they are not in `dataset` as it is here."""
    if isinstance(dataset, Dataset):
        return dataset.divide(before.split)[0] if dataset.fingerprint == before.fingerprint else None
    then = dataset if dataset.fingerprint == before.fingerprint else read_photos(dataset.root, known=before)
    return then.train if then.fingerprint == before.fingerprint else None
