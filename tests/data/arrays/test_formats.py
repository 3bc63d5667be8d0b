"""The publishers' formats, against bytes laid out by hand."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from reslab.data.arrays.formats import read_cifar10_package, read_cifar100, read_fashion_mnist, read_svhn


def put(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(f"package/{name}")
    info.size = len(content)
    archive.addfile(info, io.BytesIO(content))


def test_a_row_is_labels_then_planes(tmp_path: Path) -> None:
    """Coarse label, fine label, then the red, green and blue planes row by row; the fine label counts."""
    planes = np.zeros((3, 32, 32), dtype=np.uint8)
    planes[0, 0, 1], planes[2, 31, 0] = 7, 9
    path = tmp_path / "cifar-100-binary.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in ("train.bin", "test.bin"):
            put(archive, name, bytes([11, 49]) + planes.tobytes())
    arrays = read_cifar100({path.name: path})
    assert arrays["train_labels"].tolist() == [49]
    assert arrays["test_images"][0, 0, 1].tolist() == [7, 0, 0]
    assert arrays["test_images"][0, 31, 0].tolist() == [0, 0, 9]


def test_house_number_ten_is_zero(tmp_path: Path) -> None:
    """Images lie along the last axis."""
    from scipy.io import savemat

    images = np.zeros((32, 32, 3, 2), dtype=np.uint8)
    images[5, 6, 1, 1] = 200
    paths = {name: tmp_path / name for name in ("train_32x32.mat", "test_32x32.mat")}
    for path in paths.values():
        savemat(path, {"X": images, "y": np.array([[10], [3]], dtype=np.uint8)})
    arrays = read_svhn(paths)
    assert arrays["train_labels"].tolist() == [0, 3]
    assert arrays["train_images"].shape == (2, 32, 32, 3)
    assert arrays["train_images"][1, 5, 6, 1] == 200


def test_idx_is_a_header_and_bytes(tmp_path: Path) -> None:
    """Anything but bytes is refused."""
    images, labels = b"\0\0\x08\x03\0\0\0\x01\0\0\0\x02\0\0\0\x02" + bytes([1, 2, 3, 4]), b"\0\0\x08\x01\0\0\0\x01\x05"
    paths = {}
    for prefix in ("train", "t10k"):
        for name, content in ((f"{prefix}-images-idx3-ubyte.gz", images), (f"{prefix}-labels-idx1-ubyte.gz", labels)):
            paths[name] = tmp_path / name
            paths[name].write_bytes(gzip.compress(content))
    arrays = read_fashion_mnist(paths)
    assert arrays["train_images"].shape == (1, 2, 2, 1)
    assert arrays["test_images"].ravel().tolist() == [1, 2, 3, 4]
    assert arrays["test_labels"].tolist() == [5]
    paths["train-images-idx3-ubyte.gz"].write_bytes(gzip.compress(b"\0\0\x0d" + images[3:]))
    with pytest.raises(ValueError, match="not an idx file of bytes"):
        read_fashion_mnist(paths)


def test_a_row_of_the_packages_pngs_is_an_image(tmp_path: Path) -> None:
    """1024 pixels a row, row by row."""
    sheet = np.zeros((2, 1024, 3), dtype=np.uint8)
    sheet[1, 33] = (1, 2, 3)
    png = io.BytesIO()
    Image.fromarray(sheet).save(png, format="PNG")
    with tarfile.open(tmp_path / "package.tgz", "w:gz") as archive:
        for name in [*[f"data_batch_{number}" for number in range(1, 6)], "test_batch"]:
            put(archive, f"{name}.png", png.getvalue())
        put(archive, "train_lables.json", json.dumps([4] * 10).encode())
        put(archive, "test_lables.json", json.dumps([8, 9]).encode())
    arrays = read_cifar10_package(tmp_path / "package.tgz")
    assert arrays["train_images"].shape == (10, 32, 32, 3)
    assert arrays["test_images"][1, 1, 1].tolist() == [1, 2, 3]
    assert arrays["test_labels"].tolist() == [8, 9]
