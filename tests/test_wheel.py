"""The wheel holds all that the package needs."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder
from tests.smoke import REPOSITORY, try_out


@pytest.mark.slow
def test_installed_it_needs_no_checkout(tmp_path: Path) -> None:
    """In an environment of its own; other packages are those here, but not the reslab among them."""
    (wheel,) = WheelBuilder(str(REPOSITORY)).build(directory=str(tmp_path / "dist"))
    environment = tmp_path / "alone"
    venv.create(environment, with_pip=False)
    command = [sys.executable, "-m", "pip", "--python", str(environment / "bin" / "python"), "install"]
    subprocess.run([*command, "--no-deps", "--no-index", wheel], check=True, capture_output=True)
    (site,) = (environment / "lib").glob("python*/site-packages")
    # An editable reslab is among them by a .pth file, which counts in one's own site-packages only.
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (tmp_path / "empty").mkdir()
    try_out(environment, tmp_path / "empty")
