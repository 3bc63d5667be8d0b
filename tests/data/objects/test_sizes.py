"""Sizes of images: as they are shown, read once, and again where a file has changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image
from tests.counting import count_calls

from reslab.data.objects import sizes
from reslab.data.objects.sizes import UNKNOWN, measure_images


def test_sizes_are_kept_as_long_as_files_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Upright ones of those that lie; damage is not kept."""
    turned = Image.Exif()
    turned[0x0112] = 6
    Image.new("RGB", (30, 20)).save(tmp_path / "a.jpg")
    Image.new("RGB", (30, 20)).save(tmp_path / "b.jpg", exif=turned)
    Image.new("RGB", (7, 9)).save(tmp_path / "c.png")
    (tmp_path / "d.jpg").write_bytes(b"no image")
    files = ["a.jpg", "b.jpg", "c.png", "d.jpg", "gone.jpg"]
    expected = {"a.jpg": (30, 20), "b.jpg": (20, 30), "c.png": (7, 9), "d.jpg": UNKNOWN, "gone.jpg": UNKNOWN}
    measured = count_calls(monkeypatch, sizes, "read_size")
    assert measure_images(tmp_path, files) == expected
    assert len(measured) == 5
    Image.new("RGB", (300, 200)).save(tmp_path / "a.jpg")
    assert measure_images(tmp_path, files) == expected | {"a.jpg": (300, 200)}
    assert len(measured) == 5 + 3
    (kept,) = (tmp_path / "root" / "indexes").iterdir()
    kept.write_bytes(kept.read_bytes()[:50])
    assert measure_images(tmp_path, ["c.png"]) == {"c.png": (7, 9)}


def test_a_root_without_images_has_no_sizes(tmp_path: Path) -> None:
    """Nothing is kept of it."""
    assert measure_images(tmp_path, []) == {}
