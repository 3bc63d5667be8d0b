"""Packages of the npm registry, by a stand-in for its client."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from reslab.errors import UserError
from reslab.packages import fetch_package, fetching_folder


def put_npm(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `npm` be this script."""
    (folder / "npm").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "npm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_the_archive_is_brought(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Into a folder that goes away, beside the data."""
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path / "data"))
    put_npm(tmp_path, 'echo "$2" > brought.tgz', monkeypatch)
    with fetching_folder() as folder:
        assert fetch_package("some@1.0", folder).read_text() == "some@1.0\n"
    assert list((tmp_path / "data").iterdir()) == []


def test_a_full_disk_is_no_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The place is blamed, with its remedy; whatever else npm fails by is the caller's to tell."""
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path / "data"))
    put_npm(tmp_path, "echo ENOSPC >&2; exit 1", monkeypatch)
    with (
        pytest.raises(UserError, match="No space left on device; free some space, or set RESLAB_DATA"),
        fetching_folder() as folder,
    ):
        fetch_package("some@1.0", folder)
    put_npm(tmp_path, "exit 1", monkeypatch)
    with pytest.raises(subprocess.CalledProcessError), fetching_folder() as folder:
        fetch_package("some@1.0", folder)
