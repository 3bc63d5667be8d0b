"""What every test shares: one thread a worker, and numbers that do not depend on the order of tests."""

from __future__ import annotations

import pytest
import torch
from hypothesis import settings

# Cores are shared with other workers, so how long one example takes says nothing.
settings.register_profile("shared-cores", deadline=None, max_examples=50)
settings.load_profile("shared-cores")


@pytest.fixture(autouse=True)
def reproducible() -> None:
    """Seed torch, and leave the cores to the other workers."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
