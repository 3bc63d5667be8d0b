"""A small folder of photographs, and a data root beside it, where what is known of shards is kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.photographs import make_photos

from reslab.data.photos.folder import PhotoDataset, read_folder


@pytest.fixture(autouse=True)
def data_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path / "root"))
    return tmp_path / "root"


@pytest.fixture
def photos(tmp_path: Path) -> PhotoDataset:
    """Eight of each of two colours, and three to be tested on."""
    return read_folder(make_photos(tmp_path / "photos"))
