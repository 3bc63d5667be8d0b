"""`reslab convert`."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torchvision
from safetensors.torch import load_file

from reslab.networks import create_model, load_model, read_weights, save_model


def test_there_and_back(reslab, tmp_path: Path) -> None:
    """torchvision's weights to ours and back are the same tensors, and load there strictly."""
    theirs = torchvision.models.resnet18()
    torch.save(theirs.state_dict(), tmp_path / "resnet18.pth")
    assert reslab("convert", str(tmp_path / "resnet18.pth"), "--to", "reslab").code == 0
    (ours,) = tmp_path.glob("resnet-18-v1.5-*.safetensors")
    assert load_model(ours).preprocess is not None
    assert read_weights(ours).provenance == {"converted_from": "resnet18.pth"}
    back = tmp_path / "back.safetensors"
    assert reslab("convert", str(ours), "--to", "torchvision", "--out", str(back)).code == 0
    torchvision.models.resnet18().load_state_dict(load_file(back), strict=True)
    for name, tensor in theirs.state_dict().items():
        assert torch.equal(load_file(back)[name], tensor)


@pytest.mark.parametrize(
    ("to", "sentence"), [("keras", "choose reslab, torchvision"), ("torchvision", "something else")]
)
def test_what_cannot_be_said_is_not_written(to: str, sentence: str, reslab, tmp_path: Path) -> None:
    """An unknown form, or one that would compute something else: one sentence and no file."""
    path = save_model(create_model("resnet-18"), tmp_path)
    outcome = reslab("convert", str(path), "--to", to)
    assert outcome.code == 2
    assert sentence in outcome.err
    assert list(tmp_path.iterdir()) == [path]
