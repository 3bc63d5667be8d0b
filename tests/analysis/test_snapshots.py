"""Earlier networks of a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.analysis.subjects import make_subject

from reslab.analysis.snapshots import load_snapshot
from reslab.errors import UserError
from reslab.networks import save_model


def test_a_snapshot_is_the_network_it_was_taken_of(tmp_path: Path) -> None:
    """Weights and statistics; in evaluation mode."""
    subject, other = make_subject("cifar-resnet-8"), make_subject("cifar-resnet-8")
    save_model(other.network, tmp_path / "step.safetensors")
    found = load_snapshot(replace(subject, snapshots={40: tmp_path / "step.safetensors"}), 40)
    expected = other.network.state_dict()
    assert all(torch.equal(value, expected[name]) for name, value in found.state_dict().items())
    assert not found.training


def test_what_was_not_kept_is_refused(tmp_path: Path) -> None:
    """With what there is, and how to have it."""
    subject = make_subject("cifar-resnet-8")
    with pytest.raises(UserError, match="no snapshot of iteration 0; it has none; train with --snapshots 0,…"):
        load_snapshot(subject, 0)
    with pytest.raises(UserError, match="no snapshot of iteration 0; it has 40, 640; train with --snapshots 0,…"):
        load_snapshot(replace(subject, snapshots={640: tmp_path, 40: tmp_path}), 0)
