"""State dicts that torchvision's own networks take."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torchvision
from safetensors.torch import load_file
from tests.delivery.conftest import SMALL

from reslab.delivery.deployed import Deployed, make_pictures
from reslab.delivery.intake import make_intake
from reslab.delivery.torchvision_file import write_torchvision
from reslab.errors import UserError
from reslab.networks import create_model


def deploy(name: str, **fields) -> Deployed:
    network = create_model(name, num_classes=2, **fields).eval()
    return Deployed(network, make_intake(network, preprocess=replace(SMALL, resize=40, crop=32)))


@pytest.mark.parametrize("ending", [".pth", ".safetensors"])
def test_torchvision_takes_it(ending: str, tmp_path: Path) -> None:
    """Strictly, and gives the same logits."""
    deployed, path = deploy("resnet-18-v1.5"), tmp_path / f"network{ending}"
    parity = write_torchvision(deployed, path, make_pictures(deployed.intake, 2))
    assert parity.agrees
    theirs = torchvision.models.resnet18(num_classes=2).eval()
    theirs.load_state_dict(load_file(path) if ending == ".safetensors" else torch.load(path))
    images = torch.randn(1, 3, 32, 32)
    with torch.no_grad():
        assert torch.allclose(theirs(images), deployed.network(images), atol=1e-5)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("resnet-18", "would compute something else in torchvision's form"),
        ("resnet-18", "; for that form train network=resnet-18-v1.5, or keep"),
        ("cifar-resnet-8", "; for that form train one with network.shortcut=B, or keep"),
        ("cifar-resnet-8 shortcut=B stride_in=3x3", "torchvision builds nothing like"),
        ("lenet-5 channels=3", "has no name for"),
    ],
)
def test_what_torchvision_does_not_build_is_refused(name: str, sentence: str, tmp_path: Path) -> None:
    """One sentence, no file."""
    name, *fields = name.split()
    deployed = deploy(name, **dict(field.split("=") for field in fields))
    with pytest.raises(UserError, match=sentence):
        write_torchvision(deployed, tmp_path / "x.pth", make_pictures(deployed.intake, 1))
    assert not list(tmp_path.iterdir())
