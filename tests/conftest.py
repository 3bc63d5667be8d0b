"""What every test shares: one thread, no processes that decode, and numbers that depend on no other test."""

from __future__ import annotations

import getpass
import os
import tempfile
from collections.abc import Iterator
from multiprocessing import util

import pytest
import torch
from hypothesis import settings

# Cores are shared with other workers, so how long one example takes says nothing.
settings.register_profile("shared-cores", deadline=None, max_examples=50)
settings.load_profile("shared-cores")
# Not by a fixture: fixtures of modules and processes that tests start heed it too.
os.environ["RESLAB_WORKERS"] = "0"
os.environ["OMP_NUM_THREADS"] = "1"  # or runs would look for other programs on this machine, and find the other workers


@pytest.fixture(autouse=True)
def reproducible() -> None:
    """Seed torch, and leave the cores to the other workers."""
    torch.set_num_threads(1)
    torch.manual_seed(0)


@pytest.fixture(scope="session", autouse=True)
def own_temporary_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What processes that are killed leave behind goes with what the tests wrote; what was compiled is kept."""
    folder = tmp_path_factory.getbasetemp() / "tmp"  # short, for sockets may lie there
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", f"{tempfile.gettempdir()}/torchinductor_{getpass.getuser()}")
        patch.setenv("TMPDIR", str(folder))
        patch.setattr(tempfile, "tempdir", str(folder))
        yield
        util._exit_function()  # now, not when the folder is gone; xdist's workers never come to it
