"""The common CIFAR naming, against an independent network written in it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from benchmarks.peers import CifarPeer

from reslab.networks import create_model, foreign_state_dict, load_model
from reslab.spec import NetworkSpec


@torch.no_grad()
@pytest.mark.parametrize("project", [False, True], ids=["A", "B"])
@pytest.mark.parametrize("form", ["plain", "module.", "nested"])
def test_logits_equal_the_peers(form: str, project: bool, tmp_path: Path) -> None:
    """With and without `module.`, nested under `state_dict` beside other things: the same logits."""
    peer = CifarPeer(3, project=project)
    x = torch.randn(4, 3, 32, 32)
    peer(x)
    state = peer.eval().state_dict()
    if form != "plain":
        state = {f"module.{name}": tensor for name, tensor in state.items()}
    torch.save({"state_dict": state, "best_prec1": 91.7, "epoch": 3} if form == "nested" else state, tmp_path / "a.th")
    ours = create_model("resnet-20", weights=tmp_path / "a.th").eval()
    assert torch.allclose(ours(x), peer(x), rtol=1e-5, atol=1e-6)
    assert isinstance(ours.spec, NetworkSpec)
    assert ours.spec.shortcut == ("B" if project else "A")
    assert ours.preprocess is not None
    assert ours.preprocess.mean == (0.485, 0.456, 0.406)


@torch.no_grad()
def test_our_weights_run_in_the_peer() -> None:
    """Both-sided zero padding is written in the peer's names and computes the same there."""
    ours = create_model("resnet-32", zero_padding="both").eval()
    peer = CifarPeer(5).eval()
    peer.load_state_dict(foreign_state_dict(ours, "akamaster"), strict=True)
    x = torch.randn(2, 3, 32, 32)
    assert torch.allclose(ours(x), peer(x), rtol=1e-5, atol=1e-6)


def test_the_file_tells_the_depth(tmp_path: Path) -> None:
    """Loading without a name finds 6n+2."""
    torch.save(CifarPeer(9).state_dict(), tmp_path / "a.th")
    assert load_model(tmp_path / "a.th").spec.depth == 56


def test_old_files_lack_step_counters(tmp_path: Path) -> None:
    """Files from before batch counters load, with counters at zero."""
    state = {name: tensor for name, tensor in CifarPeer(3).state_dict().items() if "num_batches" not in name}
    torch.save(state, tmp_path / "a.th")
    assert load_model(tmp_path / "a.th").get_buffer("stem.norm.num_batches_tracked") == 0
