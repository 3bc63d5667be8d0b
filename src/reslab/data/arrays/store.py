"""Where fetched data lies: one folder a dataset of plain ``.npy`` arrays under the data root, checked before use.

``digests.json`` beside them holds the SHA-256 each array had when it was fetched and found good.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from reslab.data.arrays.dataset import ArrayDataset
from reslab.data.arrays.sources import Published
from reslab.data.arrays.split import ArraySplit, Bytes
from reslab.errors import UserError
from reslab.files import data_root, refuse_place, remove_abandoned, replace_folder, temporary_folder
from reslab.json_text import to_json

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


def save_arrays(name: str, arrays: Mapping[str, Bytes]) -> Path:
    """Write a dataset's arrays and their digests; the folder appears whole, or stays as it was."""
    folder = data_root() / name
    try:
        with temporary_folder(folder.parent, name) as temporary:
            new = temporary / "new"
            new.mkdir()
            for array_name, array in arrays.items():
                np.save(new / f"{array_name}.npy", array, allow_pickle=False)
            digests = {array_name: digest(array) for array_name, array in arrays.items()}
            (new / "digests.json").write_text(to_json(digests, indent=2) + "\n", encoding="utf-8")
            replace_folder(folder, new)
    except OSError as error:
        raise refuse_place(folder, error) from error
    return folder


def load_published(dataset: Published) -> ArrayDataset:
    """Load a fetched dataset from the data root."""
    arrays = load_arrays(dataset.name, dataset.digests)

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


def load_arrays(name: str, digests: Mapping[str, str]) -> dict[str, Bytes]:
    """Read a dataset's arrays and check them against their digests: those given, or those stored beside them."""
    folder = data_root() / name
    remove_abandoned(data_root())  # what a fetch that was killed had begun
    again = f"fetch it again with `reslab data fetch {name}`"
    arrays = {}
    for array_name in ARRAYS:
        path = folder / f"{array_name}.npy"
        try:
            array = np.load(path, allow_pickle=False)
            expected = (digests or json.loads((folder / "digests.json").read_text(encoding="utf-8")))[array_name]
        except FileNotFoundError:
            raise UserError(f"{name} is not at {folder}; fetch it with `reslab data fetch {name}`") from None
        except (OSError, EOFError, ValueError, LookupError, TypeError) as error:
            raise UserError(f"{path} is damaged; {again}") from error
        if digest(array) != expected:
            raise UserError(f"{path} is not {name}: its digest differs; {again}")
        arrays[array_name] = array
    return arrays
