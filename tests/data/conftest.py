"""Small stand-ins for the published datasets, in their publishers' formats and without a network."""

from __future__ import annotations

import gzip
import hashlib
import io
import struct
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reslab.data import catalogue
from reslab.data.arrays import sources, store
from reslab.data.arrays.sources import File, Published

TRAIN, TEST = 20, 3
generator = np.random.default_rng(0)


def rows(count: int, label_bytes: int) -> np.ndarray:
    """Random rows in CIFAR's binary form."""
    return generator.integers(0, 10, (count, label_bytes + 3072), dtype=np.uint8)


def pack(folder: Path, name: str, members: dict[str, np.ndarray]) -> None:
    """Write members into a .tar.gz."""
    with tarfile.open(folder / name, "w:gz") as archive:
        for member, data in members.items():
            info = tarfile.TarInfo(f"a-folder/{member}")
            info.size = data.nbytes
            archive.addfile(info, io.BytesIO(data.tobytes()))


def write_cifar10(folder: Path) -> None:
    batches = {f"data_batch_{number}.bin": rows(TRAIN // 5, 1) for number in range(1, 6)}
    pack(folder, "cifar-10-binary.tar.gz", {**batches, "test_batch.bin": rows(TEST, 1)})


def write_cifar100(folder: Path) -> None:
    pack(folder, "cifar-100-binary.tar.gz", {"train.bin": rows(TRAIN, 2), "test.bin": rows(TEST, 2)})


def write_svhn(folder: Path) -> None:
    from scipy.io import savemat

    for part, count in {"train": TRAIN, "test": TEST}.items():
        images = generator.integers(0, 256, (32, 32, 3, count), dtype=np.uint8)
        labels = (np.arange(count, dtype=np.uint8) % 10 + 1)[:, None]
        savemat(folder / f"{part}_32x32.mat", {"X": images, "y": labels}, do_compression=True)


def write_fashion_mnist(folder: Path) -> None:
    for prefix, count in {"train": TRAIN, "t10k": TEST}.items():
        images = generator.integers(0, 256, (count, 28, 28), dtype=np.uint8)
        labels = generator.integers(0, 10, count, dtype=np.uint8)
        for name, array in {f"{prefix}-images-idx3": images, f"{prefix}-labels-idx1": labels}.items():
            header = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
            (folder / f"{name}-ubyte.gz").write_bytes(gzip.compress(header + array.tobytes()))


WRITERS: dict[str, Callable[[Path], None]] = {
    "cifar10": write_cifar10,
    "cifar100": write_cifar100,
    "svhn": write_svhn,
    "fashion-mnist": write_fashion_mnist,
}


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the small datasets are published in; the data root is another."""
    folder = tmp_path / "published"
    folder.mkdir()
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path / "data"))
    return folder


@pytest.fixture
def publish(served: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Published]:
    """Publish a small dataset under a known name: the one that fetching and loading now see."""

    def small(name: str) -> Published:
        WRITERS[name](served)
        real = sources.PUBLISHED[name]
        files = tuple(
            File((served / file.name).as_uri(), hashlib.md5((served / file.name).read_bytes()).hexdigest())
            for file in real.files
        )
        dataset = replace(real, num_train=TRAIN, num_test=TEST, files=files, package=None, digests={})
        arrays = dataset.read({file.name: served / file.name for file in files})
        if real.digests:
            dataset = replace(dataset, digests={key: store.digest(array) for key, array in arrays.items()})
        monkeypatch.setitem(sources.PUBLISHED, name, dataset)
        monkeypatch.setitem(catalogue.LOADERS, name, lambda: store.load_published(dataset))
        return dataset

    return small
