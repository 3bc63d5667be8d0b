"""torchvision's own weights: which file, fetched once, how its images are prepared; what is told where it cannot be."""

from __future__ import annotations

import hashlib
from http.client import IncompleteRead
from pathlib import Path

import pytest
import torch
from torchvision.models import GoogLeNet, get_model_weights

from reslab.data.preprocessing import preprocess_images
from reslab.errors import UserError
from reslab.networks import create_model, foreign_state_dict, read_weights
from reslab.networks.weights import reading
from reslab.networks.weights.published import digest_file, fetch_torchvision, find_preprocess
from reslab.spec import find
from reslab.spec.comparators import TORCHVISION_NAMES
from reslab.spec.preprocess import TORCHVISION

NETWORKS = {f"resnet-{depth}-v1.5": f"resnet{depth}" for depth in (18, 34, 50, 101, 152)} | TORCHVISION_NAMES
# Smooth, so that bicubic resizing does not overshoot.
RAMP = torch.linspace(0.2, 0.8, 300)
IMAGE = torch.stack([RAMP[:, None] * one + RAMP[None] * (1 - one) for one in (0.1, 0.5, 0.8)])[None, :, :, 20:]


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


@pytest.mark.parametrize("name", NETWORKS)
def test_images_are_prepared_as_torchvision_does_for_each_of_its_files(name: str) -> None:
    """All that it published for a network we offer: size, crop, interpolation, mean and deviation, by the pixel."""
    for weights in get_model_weights(NETWORKS[name]):
        digest = weights.url.removesuffix(".pth").rpartition("-")[2] + 56 * "0"
        preprocess = find_preprocess(find(name), digest)
        assert preprocess is not None
        transforms = weights.transforms()
        assert ([preprocess.resize], [preprocess.crop]) == (transforms.resize_size, transforms.crop_size)
        theirs = transforms(IMAGE)
        if name == "googlenet":
            network = GoogLeNet(transform_input=True, init_weights=False)
            theirs = network._transform_input(theirs)
        ours = preprocess_images(IMAGE, preprocess, brightest=1)
        assert ours.shape == theirs.shape
        assert torch.allclose(ours, theirs, atol=1e-5, rtol=1e-5)


def test_other_files_are_none_of_its_own() -> None:
    """Whatever network they are of."""
    for name in (*NETWORKS, "resnet-20", "highway-19"):
        assert find_preprocess(find(name), 64 * "0") is None


def test_a_file_is_known_by_what_it_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second ResNet-50 resizes to 232 and the first to 256, whatever their files are called, as any other does."""
    path = tmp_path / "resnet50-11ad3fa6.pth"
    torch.save(foreign_state_dict(create_model("resnet-50-v1.5"), "torchvision"), path)
    assert digest_file(path) == hashlib.sha256(path.read_bytes()).hexdigest()
    assert read_weights(path).preprocess == TORCHVISION
    path = path.rename(tmp_path / "mine.pth")
    for start, resize in (("11ad3fa6", 232), ("0676ba61", 256)):
        monkeypatch.setattr(reading, "digest_file", lambda path, start=start: start + 56 * "0")
        preprocess = read_weights(path).preprocess
        assert preprocess is not None
        assert (preprocess.resize, preprocess.crop) == (resize, 224)
