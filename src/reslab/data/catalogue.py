"""Datasets by name, and folders of photographs by their path."""

from functools import partial
from pathlib import Path

from reslab.data.arrays.dataset import ArrayDataset
from reslab.data.arrays.digits import load_digits
from reslab.data.arrays.sources import PUBLISHED, Known
from reslab.data.arrays.store import load_published
from reslab.data.arrays.tiny_imagenet import TINY_IMAGENET, load_tiny_imagenet
from reslab.data.dataset import Dataset
from reslab.data.photos.reader import read_photos
from reslab.errors import UserError, choices, suggest
from reslab.files import data_root, exists, is_folder, list_folder, real_path
from reslab.runtime.listener import DEAF, Listener
from reslab.spec import is_network
from reslab.spec.trial import DataSpec

KNOWN: dict[str, Known] = {**PUBLISHED, TINY_IMAGENET.name: TINY_IMAGENET}  # that can be brought here
LOADERS = {
    "digits": load_digits,
    **{name: partial(load_published, dataset) for name, dataset in PUBLISHED.items()},
    TINY_IMAGENET.name: partial(load_tiny_imagenet, TINY_IMAGENET),
}


def load_dataset(name: str, *, listener: Listener = DEAF) -> ArrayDataset:
    """Load a dataset by its name; the listener hears where a folder of that name lies here too."""
    if name not in LOADERS:
        raise UserError(f"there is no dataset '{name}'{suggest(name, LOADERS) or '; choose ' + choices(LOADERS)}")
    if is_folder(Path(name)) and real_path(Path(name)) != real_path(data_root() / name):
        listener.warn(f"'{name}' means the dataset, not the folder {name} here; write ./{name} to use the folder")
    return LOADERS[name]()


def open_data(
    text: str, *, held_out_seed: int = 0, known: DataSpec | None = None, listener: Listener = DEAF
) -> Dataset:
    """Load a dataset by its name, or read the photographs at a path.

    `known` is what a trial says of its data: photographs are read as they were for it, if they still are there.
    """
    if text in LOADERS:
        return load_dataset(text, listener=listener)
    if text and is_folder(Path(text)):
        return read_photos(Path(text), seed=held_out_seed, known=known)
    raise UserError(f"'{text}' is neither a dataset nor a folder of photographs{_hint(text)}")


def _hint(text: str) -> str:
    if text and exists(Path(text)):
        return ", but a file; give the folder that contains it"
    if is_network(text):
        return f", but a network; write network={text}"
    folders = [path.name for path in list_folder(Path()) if is_folder(path)]
    return suggest(text, [*LOADERS, *folders]) or f"; choose {choices(LOADERS)}, or give a folder of photographs"
