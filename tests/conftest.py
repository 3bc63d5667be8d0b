"""What every test shares: one thread, no processes that decode, and numbers that depend on no other test."""

from __future__ import annotations

import os

import pytest
import torch
from hypothesis import settings

# Cores are shared with other workers, so how long one example takes says nothing.
settings.register_profile("shared-cores", deadline=None, max_examples=50)
settings.load_profile("shared-cores")
# Not by a fixture: fixtures of modules and processes that tests start heed it too.
os.environ["RESLAB_WORKERS"] = "0"


@pytest.fixture(autouse=True)
def reproducible() -> None:
    """Seed torch, and leave the cores to the other workers."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
