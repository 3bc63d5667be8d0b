"""What was fetched, and whether it still is what it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.closed import umask
from tests.renames import fail_rename

from reslab.data.arrays.fetch import fetch
from reslab.data.arrays.sources import Published
from reslab.data.arrays.store import save_arrays
from reslab.data.catalogue import load_dataset
from reslab.errors import UserError


@pytest.mark.parametrize("name", ["cifar10", "fashion-mnist"])
def test_damage_on_disk_is_found(name: str, publish: Callable[[str], Published]) -> None:
    """Absent, changed or cut arrays are named, with the command that mends them: digests in code and stored alike."""
    dataset = publish(name)
    with pytest.raises(UserError, match=f"reslab data fetch {name}"):
        load_dataset(name)
    folder = fetch(dataset)
    path = folder / "test_images.npy"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(UserError, match=rf"test_images\.npy is not {name}"):
        load_dataset(name)
    for damaged in (whole[:100], whole.replace(b"}", b"{", 1)):
        path.write_bytes(damaged)
        with pytest.raises(UserError, match=r"test_images\.npy is damaged"):
            load_dataset(name)
    fetch(dataset)
    assert len(load_dataset(name).test) == 3


def test_stored_digests_are_needed(publish: Callable[[str], Published]) -> None:
    """Where the code knows none, a dataset without them, or with half of them, is not trusted."""
    folder = fetch(publish("svhn"))
    (folder / "digests.json").write_text("{}")
    with pytest.raises(UserError, match="is damaged"):
        load_dataset("svhn")
    (folder / "digests.json").unlink()
    with pytest.raises(UserError, match="fetch it with"):
        load_dataset("svhn")


def test_a_dataset_is_replaced_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the one before stays, nothing temporary either, and others may read it if the umask lets them."""
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path))
    save_arrays("x", {"a": np.zeros(1, dtype=np.uint8), "b": np.zeros(1, dtype=np.uint8)})
    with umask(0o022):
        folder = save_arrays("x", {"a": np.ones(1, dtype=np.uint8)})
    assert {path.name for path in folder.iterdir()} == {"a.npy", "digests.json"}
    assert list(tmp_path.iterdir()) == [folder]
    assert folder.stat().st_mode & 0o777 == 0o755


def test_if_the_new_one_cannot_take_its_place_the_old_one_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second of the two renames fails, and what was fetched is still there."""
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path))
    folder = save_arrays("x", {"a": np.zeros(1, dtype=np.uint8)})
    fail_rename(monkeypatch, 2, OSError(5, "Input/output error"))
    with pytest.raises(UserError, match="Input/output error"):
        save_arrays("x", {"a": np.ones(1, dtype=np.uint8)})
    assert np.load(folder / "a.npy") == 0
    assert list(tmp_path.iterdir()) == [folder]


def test_an_unwritable_root_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With the variable to set."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path / "file" / "data"))
    with pytest.raises(UserError, match="set RESLAB_DATA"):
        save_arrays("x", {"a": np.zeros(1, dtype=np.uint8)})
