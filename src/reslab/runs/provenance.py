"""On what a run ran: versions, hardware, commit, command."""

import contextlib
import datetime
import importlib.metadata
import os
import platform
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

PACKAGES = ("torch", "torchvision", "numpy", "pillow", "simplejpeg", "safetensors", "tensorboard")


def describe_surroundings() -> dict[str, Any]:
    """Return where and how this process runs, as plain data."""
    import reslab

    name = Path(sys.argv[0]).name
    program = "reslab" if name == "__main__.py" else name  # as `python -m reslab` is called
    return {
        "command": shlex.join([program, *sys.argv[1:]]),
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": os.environ.get("RESLAB_COMMIT") or _commit(Path(reslab.__file__).parent),
        "versions": {"reslab": reslab.__version__, "python": platform.python_version(), **_versions()},
        "machine": {"system": platform.platform(), **describe_hardware()},
    }


def describe_hardware() -> dict[str, Any]:
    """Return what computes where there is no GPU."""
    return {"processor": _processor(), "cores": os.cpu_count()}


def name_device(device: str) -> str:
    """Name what computes: the GPU that a device is, or the processor."""
    if not device.startswith("cuda"):
        return _processor()
    import torch

    return torch.cuda.get_device_name(device)


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found


def _commit(folder: Path) -> str:
    """Return the checkout's commit, marked where files differ from it; empty outside a checkout."""
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=10).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _processor() -> str:
    """Return the processor's name where Linux tells it, which it does not of every kind; else what Python says."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()
