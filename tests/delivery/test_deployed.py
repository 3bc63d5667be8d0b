"""Files for other runtimes give the network's logits, or are not written."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
import torchvision
from safetensors.torch import load_file
from tests.delivery.conftest import SMALL, make_deployed, make_network

from reslab.delivery.deployed import (
    Deployed,
    check_parity,
    make_pictures,
    refuse_mismatch,
    require_onnx,
    run_onnx,
    write_program,
    write_torchvision,
)
from reslab.delivery.intake import make_intake
from reslab.delivery.pictures import find_images, read_images
from reslab.errors import UserError
from reslab.networks import create_model


def test_onnx_agrees_on_photographs(exported, photos: Path) -> None:
    """Synthetic and real; batches of any size; nothing but the file stays."""
    deployed, path, parity = exported
    assert parity.agrees
    assert (parity.images, parity.same_guess) == (8, 8)
    assert list(path.parent.iterdir()) == [path]
    run = run_onnx(str(path))
    pictures = list(read_images(find_images([photos / "val"])))
    real = check_parity(deployed, run, pictures)
    assert real.agrees
    assert real.same_guess == real.images == 8
    frames = torch.cat([deployed.intake.frame(picture) for picture in pictures])
    one_by_one = torch.cat([run(frame[None]) for frame in frames])
    assert torch.allclose(run(frames), one_by_one, atol=1e-5)


def test_the_file_says_what_it_takes(exported) -> None:
    """Free batch by its name; size, preprocessing outside and inside, and classes in the metadata."""
    model = onnx.load(exported[1])
    onnx.checker.check_model(model)
    (given,) = model.graph.input
    sizes = [dimension.dim_param or dimension.dim_value for dimension in given.type.tensor_type.shape.dim]
    assert (given.name, sizes) == ("pixels", ["batch", 3, 16, 16])
    (about,) = [json.loads(entry.value) for entry in model.metadata_props if entry.key == "reslab"]
    assert about["class_names"] == ["ants", "bees"]
    assert (about["input"]["range"], about["input"]["channels"]) == ("0-255", "RGB")
    assert (about["resize_first"]["resize"], about["resize_first"]["crop"]) == (20, 16)
    assert (about["inside"]["channel_order"], about["inside"]["resize"]) == ("BGR", None)


def test_a_program_with_a_mean_image(tmp_path: Path) -> None:
    """torch.export's file loads and agrees; the mean image is inside, what it takes in an extra file."""
    network = make_network()
    network.preprocess = replace(SMALL, per_pixel_mean=True, mean=(0.0,), std=(1.0,), resize=None, crop=None)
    network.mean_image = torch.rand(3, 16, 16)
    deployed = Deployed(network, make_intake(network))
    parity = write_program(deployed, tmp_path / "network.pt2", make_pictures(deployed.intake, 3))
    assert parity.agrees
    assert parity.images == 3
    extra = {"reslab.json": ""}
    program = torch.export.load(tmp_path / "network.pt2", extra_files=extra)
    assert json.loads(extra["reslab.json"])["input"]["shape"] == ["batch", 3, 16, 16]
    pixels = torch.full((5, 3, 16, 16), 51.0)
    assert torch.allclose(program.module()(pixels), network((0.2 - network.mean_image)[None]).expand(5, -1), atol=1e-5)


@pytest.mark.parametrize("wrong", [0.01, float("nan")])
def test_a_mismatch_is_an_error(wrong: float, tmp_path: Path) -> None:
    """Logits a little off, or no numbers, do not agree, and are told with how far."""
    deployed = make_deployed()
    parity = check_parity(deployed, lambda pixels: deployed(pixels) + wrong, make_pictures(deployed.intake, 2))
    assert not parity.agrees
    with pytest.raises(UserError, match=r"x\.onnx was not written: its logits differ from the network's by"):
        refuse_mismatch(tmp_path / "x.onnx", parity)


def test_a_file_that_disagrees_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stood there before stays."""
    deployed = make_deployed()
    (tmp_path / "network.pt2").write_text("before")
    traced = make_deployed(mean=(0.1, 0.1, 0.1)).trace()
    monkeypatch.setattr(Deployed, "trace", lambda self: traced)
    with pytest.raises(UserError, match="was not written"):
        write_program(deployed, tmp_path / "network.pt2", make_pictures(deployed.intake, 2))
    assert [path.read_text() for path in tmp_path.iterdir()] == ["before"]


def test_what_cannot_be_exported_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A resize without a crop; and ONNX without its packages names what to install."""
    with pytest.raises(UserError, match=r"resizes but does not crop.*add preprocess\.crop=16"):
        make_deployed(crop=None)
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(
        UserError,
        match=r"ONNX files need onnxscript, which is not installed; run `pip install onnx onnxruntime onnxscript`",
    ):
        require_onnx()


def test_synthetic_photographs_look_like_some() -> None:
    """The same every time, in bytes, larger than what is cropped, smoother than noise."""
    intake = make_deployed().intake
    first, again = (make_pictures(intake, 2)[0].pixels for _ in range(2))
    assert torch.equal(first, again)
    assert (first.dtype, first.shape) == (torch.uint8, (3, 25, 30))
    values = first.double().numpy()
    assert np.abs(np.diff(values, axis=2)).mean() < 0.5 * values.std()


def test_a_network_without_numbers_is_not_exported(tmp_path: Path) -> None:
    """It is the weights that are wrong, and no other format would help."""
    deployed = make_deployed()
    torch.nn.init.constant_(deployed.network.classifier.bias, torch.inf)  # pyright: ignore[reportAttributeAccessIssue]
    refusal = r"cifar-resnet-8 .* gives logits that are not finite for 2 of 2 images: its classifier\.bias is not fin"
    with pytest.raises(UserError, match=refusal):
        write_program(deployed, tmp_path / "it.pt2", make_pictures(deployed.intake, 2))
    assert not list(tmp_path.iterdir())


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
        ("resnet-18", "would give other outputs in torchvision's format"),
        ("resnet-18", "; for that format train network=resnet-18-v1.5, or keep"),
        ("cifar-resnet-8", "; for that format train a network with network.shortcut=B, or keep"),
        ("cifar-resnet-8 shortcut=B stride_in=3x3", "torchvision has no network like"),
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
