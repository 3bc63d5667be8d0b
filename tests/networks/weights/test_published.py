"""torchvision's own weights: which file, fetched once, and what is told where it cannot be."""

from __future__ import annotations

from http.client import IncompleteRead
from pathlib import Path

import pytest
import torch

from reslab.errors import UserError
from reslab.networks.weights.published import fetch_torchvision
from reslab.spec import find


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("resnet-18", "resnet18-f37072fd.pth"),
        ("resnet-50-v1.5", "resnet50-11ad3fa6.pth"),
        ("vgg-16-bn", "vgg16_bn-6c64b313.pth"),
        ("vit-b-16", "vit_b_16-c867db91.pth"),
    ],
)
def test_a_network_has_its_file_fetched_once(
    name: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest there is, into torch's own folder, its digest checked; what lies there already is taken."""
    asked: list[tuple[str, str]] = []

    def download(url: str, place: str, *, hash_prefix: str) -> None:
        asked.append((url, hash_prefix))
        Path(place).write_bytes(b"weights")

    monkeypatch.setattr(torch.hub, "download_url_to_file", download)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    for _ in range(2):
        path = fetch_torchvision(find(name))
        assert path == tmp_path / "hub" / "checkpoints" / file
        assert path.read_bytes() == b"weights"
    assert asked == [(f"https://download.pytorch.org/models/{file}", file.removesuffix(".pth").rpartition("-")[2])]


@pytest.mark.parametrize("name", ["resnet-20", "plain-18", "highway-19"])
def test_a_network_that_torchvision_has_not_is_told(name: str) -> None:
    """With what to do instead."""
    with pytest.raises(UserError, match=f"torchvision has no weights for {name}; give weights=FILE"):
        fetch_torchvision(find(name))


@pytest.mark.parametrize("error", [OSError("no network"), RuntimeError("invalid hash"), IncompleteRead(b"")])
def test_weights_out_of_reach_are_told(error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one sentence, whatever went wrong on the way."""

    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(torch.hub, "download_url_to_file", refuse)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "hub"))
    with pytest.raises(UserError, match=r"resnet18-f37072fd\.pth cannot be fetched \(.*\); download it elsewhere"):
        fetch_torchvision(find("resnet-18"))
