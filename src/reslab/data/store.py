"""Where fetched data lies: one folder a dataset of plain ``.npy`` arrays under the data root, checked before use."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from reslab.data.dataset import Bytes
from reslab.errors import UserError


def data_root() -> Path:
    """Return ``RESLAB_DATA``, or ``reslab`` in the user's data folder."""
    if os.environ.get("RESLAB_DATA"):
        return Path(os.environ["RESLAB_DATA"]).expanduser()
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "reslab"


def digest(array: Bytes) -> str:
    """Return the SHA-256 of an array's bytes in C order."""
    return hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()


def save_arrays(name: str, arrays: Mapping[str, Bytes]) -> Path:
    """Write a dataset's arrays; the folder appears whole or not at all."""
    folder = data_root() / name
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=folder.parent))
        try:
            for array_name, array in arrays.items():
                np.save(temporary / f"{array_name}.npy", array, allow_pickle=False)
            shutil.rmtree(folder, ignore_errors=True)
            temporary.replace(folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        raise UserError(f"cannot write {folder}: {error.strerror}; set RESLAB_DATA to a writable place") from error
    return folder


def load_arrays(name: str, digests: Mapping[str, str]) -> dict[str, Bytes]:
    """Read a dataset's arrays and check them against their digests."""
    folder = data_root() / name
    arrays = {}
    for array_name, expected in digests.items():
        path = folder / f"{array_name}.npy"
        try:
            array = np.load(path, allow_pickle=False)
        except FileNotFoundError:
            raise UserError(f"{name} is not at {folder}; fetch it with `reslab data fetch {name}`") from None
        except (OSError, ValueError) as error:
            raise UserError(f"{path} is damaged; fetch it again with `reslab data fetch {name}`") from error
        if digest(array) != expected:
            raise UserError(f"{path} is not {name}: its digest differs; fetch it again with `reslab data fetch {name}`")
        arrays[array_name] = array
    return arrays
