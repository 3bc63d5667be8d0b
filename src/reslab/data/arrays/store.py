"""Where fetched data lies: one folder a dataset of plain ``.npy`` arrays under the data root, checked before use.

``digests.json`` beside them holds the SHA-256 each array had when it was fetched and found good.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError

import numpy as np

from reslab.data.arrays.dataset import ArrayDataset
from reslab.data.arrays.sources import Known, Published
from reslab.data.arrays.split import ArraySplit, Bytes
from reslab.data.words import write_words
from reslab.errors import UserError
from reslab.files import data_root, refuse_place, remove_abandoned, replace_folder, temporary_folder
from reslab.json_text import to_json

DIGESTS, FINGERPRINT = "digests.json", "fingerprint"
ARRAYS = ("train_images", "train_labels", "test_images", "test_labels")


def digest(array: Bytes) -> str:
    """Return the SHA-256 of an array's bytes in C order."""
    return hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()


def check_arrays(dataset: Published, arrays: Mapping[str, Bytes]) -> None:
    """Refuse arrays of another size, with labels of no class, or that differ from what is known of them."""
    for part, count in {"train": dataset.num_train, "test": dataset.num_test}.items():
        images, labels = arrays[f"{part}_images"], arrays[f"{part}_labels"]
        if images.shape != (count, *dataset.image_shape) or labels.shape != (count,):
            raise ValueError(f"{part} has images of shape {images.shape} and {len(labels)} labels")
        if images.dtype != np.uint8 or labels.max() >= len(dataset.class_names):
            raise ValueError(f"{part} has images of {images.dtype} and labels up to {labels.max()}")
    for name, expected in dataset.digests.items():
        if digest(arrays[name]) != expected:
            raise ValueError(f"the digest of {name} differs from the published one")


def save_arrays(
    name: str, arrays: Mapping[str, Bytes], *, fingerprint: str = "", words: Mapping[str, str] | None = None
) -> Path:
    """Write a dataset's arrays and their digests; the folder appears whole, or stays as it was.

    The `fingerprint` of all goes beside the digests, and the `words` of the classes into a file of their own.
    """
    folder = data_root() / name
    try:
        with temporary_folder(folder.parent, name) as temporary:
            new = temporary / "new"
            new.mkdir()
            for array_name, array in arrays.items():
                np.save(new / f"{array_name}.npy", array, allow_pickle=False)
            digests = {array_name: digest(array) for array_name, array in arrays.items()}
            if fingerprint:
                digests[FINGERPRINT] = fingerprint
            (new / DIGESTS).write_text(to_json(digests, indent=2) + "\n", encoding="utf-8")
            if words:
                write_words(new, words)
            replace_folder(folder, new)
    except OSError as error:
        raise refuse_place(folder, error) from error
    return folder


def load_published(dataset: Published) -> ArrayDataset:
    """Load a fetched dataset from the data root."""
    arrays = {name: read_array(dataset, name) for name in ARRAYS}
    for name, array in arrays.items():
        check_array(dataset, name, array)

    def split(part: str) -> ArraySplit:
        return ArraySplit(
            np.ascontiguousarray(arrays[f"{part}_images"].transpose(0, 3, 1, 2)), arrays[f"{part}_labels"]
        )

    return ArrayDataset(
        name=dataset.name,
        class_names=dataset.class_names,
        train=split("train"),
        test=split("test"),
        usual_recipe=dataset.recipe,
    )


def read_array(dataset: Known, name: str, *, mapped: bool = False) -> Bytes:
    """Read one of a dataset's arrays, or map it; what it holds is to be checked."""
    remove_abandoned(data_root())  # what a fetch that was killed had begun
    path = data_root() / dataset.name / f"{name}.npy"
    with _telling(dataset, path):
        # Mapped for reading alone, torch would warn; what is written in memory stays there.
        return np.asarray(np.load(path, mmap_mode="c" if mapped else None, allow_pickle=False))


def check_array(dataset: Known, name: str, array: Bytes) -> None:
    """Refuse an array whose digest is not the one that is known, or that is stored beside it."""
    if digest(array) != (dataset.digests.get(name) or find_digest(dataset, name)):
        path = data_root() / dataset.name / f"{name}.npy"
        raise UserError(f"{path} is not {dataset.name}: its digest differs; {_again(dataset)}")


def find_digest(dataset: Known, name: str) -> str:
    """Return the digest stored for an array, or the fingerprint."""
    path = data_root() / dataset.name / DIGESTS
    with _telling(dataset, path):
        return json.loads(path.read_text(encoding="utf-8"))[name]


@contextmanager
def _telling(dataset: Known, path: Path) -> Iterator[None]:
    """Tell that a file of a dataset is not there, or that it is damaged."""
    try:
        yield
    except FileNotFoundError:
        place = f"{dataset.name} is not at {path.parent}"
        raise UserError(f"{place}; {dataset.verb} it with `{dataset.command}`") from None
    except (OSError, EOFError, ValueError, LookupError, TypeError, TokenError) as error:
        raise UserError(f"{path} is damaged; {_again(dataset)}") from error


def _again(dataset: Known) -> str:
    return f"{dataset.verb} it again with `{dataset.command}`"
