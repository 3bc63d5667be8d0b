"""A data root beside the data, where the sizes of images are kept."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def data_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path / "root"))
    return tmp_path / "root"
