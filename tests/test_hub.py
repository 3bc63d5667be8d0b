"""torch.hub finds every network."""

from __future__ import annotations

import runpy
from pathlib import Path

import torch

from reslab import list_models

REPOSITORY = str(Path(__file__).parent.parent)


def test_every_name_is_an_entry_point() -> None:
    """Names with hyphens and dots become identifiers."""
    entries = runpy.run_path(f"{REPOSITORY}/hubconf.py")
    for name in [*list_models(), "create_model"]:
        assert callable(entries[name.replace("-", "_").replace(".", "_")])


def test_entries_take_our_words() -> None:
    """Keyword arguments reach `create_model`."""
    network = torch.hub.load(REPOSITORY, "resnet_20", source="local", num_classes=7)
    assert network.spec.classes == 7  # pyright: ignore[reportAttributeAccessIssue]
