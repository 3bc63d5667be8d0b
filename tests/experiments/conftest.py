"""A folder of photographs to train on."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.photographs import make_photos

from reslab.data.photos.folder import PhotoDataset, read_folder


@pytest.fixture
def photos(tmp_path: Path) -> PhotoDataset:
    """Twelve of each of two colours, and four to be tested on."""
    return read_folder(make_photos(tmp_path / "photos", train=12, val=4))
