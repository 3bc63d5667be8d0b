"""Fetching and checking CIFAR-10, without a network."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import numpy as np
import pytest

from reslab.data import cifar10
from reslab.data.catalogue import load_dataset
from reslab.data.store import digest, save_arrays
from reslab.errors import UserError

generator = np.random.default_rng(0)
ROWS = {
    **{f"data_batch_{number}": generator.integers(0, 10, (4, 3073), dtype=np.uint8) for number in range(1, 6)},
    "test_batch": generator.integers(0, 10, (3, 3073), dtype=np.uint8),
}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A CIFAR-10 of 23 images, with its own digests, in a data root of its own."""
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path / "data"))
    arrays = cifar10._join([ROWS[f"data_batch_{number}"] for number in range(1, 6)], ROWS["test_batch"])
    monkeypatch.setattr(cifar10, "DIGESTS", {name: digest(array) for name, array in arrays.items()})


def serve(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(cifar10.urllib.request, "urlopen", lambda *_, **__: io.BytesIO(content))


def archive(rows: dict[str, np.ndarray]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as file:
        for name, data in rows.items():
            info = tarfile.TarInfo(f"cifar-10-batches-bin/{name}.bin")
            info.size = data.nbytes
            file.addfile(info, io.BytesIO(data.tobytes()))
    return out.getvalue()


def test_the_archive_is_decoded_checked_and_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Label byte first, then red, green and blue planes; no pickle is left behind."""
    serve(monkeypatch, archive(ROWS))
    folder = cifar10.fetch_cifar10(lambda _: None, sources=["archive"])
    assert sorted(path.suffix for path in folder.iterdir()) == [".npy"] * 4
    dataset = load_dataset("cifar10")
    assert dataset.train.images.shape == (20, 3, 32, 32)
    assert np.array_equal(dataset.train.images[5], ROWS["data_batch_2"][1, 1:].reshape(3, 32, 32))
    assert dataset.test.labels.tolist() == ROWS["test_batch"][:, 0].tolist()


@pytest.mark.parametrize("damage", ["truncated", "other", "not an archive"])
def test_wrong_downloads_are_never_accepted(damage: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is stored, and the sentence says why."""
    whole = archive(ROWS)
    other = archive({**ROWS, "test_batch": ROWS["test_batch"][::-1]})
    serve(monkeypatch, {"truncated": whole[: len(whole) // 2], "other": other, "not an archive": b"<html>"}[damage])
    with pytest.raises(UserError, match="cifar10 could not be fetched"):
        cifar10.fetch_cifar10(lambda _: None, sources=["archive"])
    assert not list((tmp_path / "data").glob("*"))


def test_damage_on_disk_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Absent, changed or cut arrays are named, with the command that mends them."""
    with pytest.raises(UserError, match="reslab data fetch cifar10"):
        load_dataset("cifar10")
    serve(monkeypatch, archive(ROWS))
    folder = cifar10.fetch_cifar10(lambda _: None, sources=["archive"])
    path = folder / "test_images.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"test_images\.npy is not cifar10"):
        load_dataset("cifar10")
    path.write_bytes(content[:100])
    with pytest.raises(UserError, match=r"test_images\.npy is damaged"):
        load_dataset("cifar10")


def test_an_unwritable_root_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With the variable to set."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path / "file" / "data"))
    with pytest.raises(UserError, match="set RESLAB_DATA"):
        save_arrays("x", {"a": np.zeros(1, dtype=np.uint8)})


def test_unknown_datasets_are_told() -> None:
    """With the nearest name."""
    with pytest.raises(UserError, match="did you mean 'cifar10'"):
        load_dataset("cifar1")
