"""torchvision's names, both ways, and its own published files."""

from __future__ import annotations

import hashlib
import re
from http.client import IncompleteRead
from pathlib import Path

import pytest
import timm
import torch
import torchvision
from safetensors.torch import save_file
from torch import Tensor, nn
from torchvision.models import GoogLeNet, get_model_weights

from reslab.data.preprocessing import preprocess_images
from reslab.errors import UserError
from reslab.networks import create_model, foreign_state_dict, load_model, read_weights
from reslab.networks.weights import reading
from reslab.networks.weights.torchvision import digest_file, fetch_torchvision, find_preprocess
from reslab.spec import find, name_of
from reslab.spec.comparators import TORCHVISION_NAMES
from reslab.spec.preprocess import TORCHVISION


def shake(network: nn.Module) -> nn.Module:
    """Give batch norms statistics and affines that matter."""
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.running_mean, std=0.1)  # pyright: ignore[reportArgumentType]
            nn.init.uniform_(module.running_var, 0.5, 1.5)  # pyright: ignore[reportArgumentType]
            nn.init.uniform_(module.weight, 0.5, 1.0)
            nn.init.normal_(module.bias, std=0.1)
    return network.eval()


def relative_difference(one: Tensor, other: Tensor) -> float:
    return ((one - other).abs().max() / other.abs().max()).item()


@torch.no_grad()
@pytest.mark.parametrize("depth", [18, 34, 50, 101, 152])
def test_logits_equal_torchvisions(depth: int, tmp_path: Path) -> None:
    """Their weights in our network, and ours back in theirs, give the same logits to 1e-5."""
    x = torch.randn(2, 3, 128, 128)
    theirs = shake(torchvision.models.get_model(f"resnet{depth}"))
    torch.save(theirs.state_dict(), tmp_path / "theirs.pth")
    ours = create_model(f"resnet-{depth}", weights=tmp_path / "theirs.pth").eval()
    assert relative_difference(ours(x), theirs(x)) <= 1e-5
    assert name_of(ours.spec) == f"resnet-{depth}-v1.5"

    fresh = shake(create_model(f"resnet-{depth}-v1.5"))
    theirs.load_state_dict(foreign_state_dict(fresh, "torchvision"), strict=True)
    assert relative_difference(fresh(x), theirs(x)) <= 1e-5


@torch.no_grad()
def test_logits_equal_timms(tmp_path: Path) -> None:
    """timm's resnet50, both ways."""
    x = torch.randn(2, 3, 128, 128)
    theirs = shake(timm.create_model("resnet50"))
    torch.save(theirs.state_dict(), tmp_path / "theirs.pth")
    ours = create_model("resnet-50", weights=tmp_path / "theirs.pth").eval()
    assert relative_difference(ours(x), theirs(x)) <= 1e-5
    fresh = shake(create_model("resnet-50-v1.5"))
    theirs.load_state_dict(foreign_state_dict(fresh, "timm"), strict=True)
    assert relative_difference(fresh(x), theirs(x)) <= 1e-5


def test_v15_is_not_v1(tmp_path: Path) -> None:
    """The same tensors compute something else with the stride in the 1x1: the adapter must say which."""
    x = torch.randn(1, 3, 64, 64)
    theirs = shake(torchvision.models.resnet50())
    ours = create_model("resnet-50").eval()
    converted = create_model("resnet-50-v1.5").eval()
    torch.save(theirs.state_dict(), tmp_path / "theirs.pth")
    state = load_model(tmp_path / "theirs.pth").state_dict()
    ours.load_state_dict(state)
    converted.load_state_dict(state)
    assert relative_difference(converted(x), theirs(x)) <= 1e-5
    assert relative_difference(ours(x), theirs(x)) > 1e-2


@torch.no_grad()
@pytest.mark.parametrize("name", ["alexnet", "vgg-16-bn", "googlenet", "densenet-121", "efficientnet-b0"])
def test_other_networks_come_from_their_files(name: str, tmp_path: Path) -> None:
    """The architecture is found out from the names alone."""
    options = {"init_weights": False} if name == "googlenet" else {}
    theirs = shake(torchvision.models.get_model(find(name).architecture, num_classes=11, **options))
    torch.save(theirs.state_dict(), tmp_path / "theirs.pth")
    ours = load_model(tmp_path / "theirs.pth").eval()
    x = torch.randn(1, 3, 224, 224)
    assert name_of(ours.spec) == f"{name} classes=11"
    assert relative_difference(ours(x), theirs(x)) <= 1e-5
    assert foreign_state_dict(ours, "torchvision").keys() == theirs.state_dict().keys()


def test_old_densenet_files_load(tmp_path: Path) -> None:
    """Published DenseNet files still call norm1 'norm.1'."""
    theirs = torchvision.models.densenet121()
    old = {
        re.sub(r"(denselayer\d+\.(?:norm|conv))(\d)", r"\1.\2", name): value
        for name, value in theirs.state_dict().items()
    }
    torch.save(old, tmp_path / "old.pth")
    ours = load_model(tmp_path / "old.pth")
    assert torch.equal(ours.get_parameter("model.classifier.weight"), theirs.classifier.weight)


def test_googlenets_normalization_travels(tmp_path: Path) -> None:
    """torchvision's transform_input is preprocessing, and is told as such."""
    torch.save(torchvision.models.googlenet(init_weights=False).state_dict(), tmp_path / "g.pth")
    preprocess = load_model(tmp_path / "g.pth").preprocess
    assert preprocess is not None
    assert preprocess.mean == (0.5, 0.5, 0.5)


def test_wide_and_grouped_networks_are_refused(tmp_path: Path) -> None:
    """Wide ResNets and ResNeXts share the names but not the network: shapes tell."""
    sentences = {
        "wide_resnet50_2": "of the wrong shape",
        "resnext50_32x4d": "have 32 groups, as in ResNeXt, which reslab cannot build",
    }
    for architecture, sentence in sentences.items():
        torch.save(torchvision.models.get_model(architecture).state_dict(), tmp_path / "theirs.pth")
        with pytest.raises(UserError, match=sentence):
            load_model(tmp_path / "theirs.pth")


def test_a_paper_network_is_not_written_as_torchvisions() -> None:
    """v1 weights in torchvision's form would silently compute something else."""
    with pytest.raises(UserError, match="pool is ceil here and padded there, stride_in is 1x1 here and 3x3 there"):
        foreign_state_dict(create_model("resnet-50"), "torchvision")
    with pytest.raises(UserError, match="order"):
        foreign_state_dict(create_model("resnet-18-v1.5", order="relu-before-addition"), "torchvision")


def test_googlenet_in_safetensors_is_read_by_name(tmp_path: Path) -> None:
    """Sorted names put an auxiliary classifier first; the first convolution is still found."""
    network = create_model("googlenet", num_classes=4)
    save_file(foreign_state_dict(network, "torchvision"), tmp_path / "g.safetensors")
    assert name_of(load_model(tmp_path / "g.safetensors").spec) == "googlenet classes=4"


def test_vit_tells_its_image_size(tmp_path: Path) -> None:
    """The number of patches gives the side; what images were resized to before, at another than 224, nothing gives."""
    network = create_model("vit-b-16", input_size=64)
    torch.save(foreign_state_dict(network, "torchvision"), tmp_path / "v.pth")
    loaded = load_model(tmp_path / "v.pth")
    assert (loaded.spec.input_size, loaded.preprocess) == (64, None)
    assert create_model("vit-b-16", weights=tmp_path / "v.pth", input_size=64).spec.input_size == 64


def test_preprocessing_is_claimed_only_where_it_is_known(tmp_path: Path) -> None:
    """EfficientNet resizes bicubically; small-image networks in these names normalize as they like."""
    torch.save(torchvision.models.efficientnet_b0().state_dict(), tmp_path / "e.pth")
    preprocess = load_model(tmp_path / "e.pth").preprocess
    assert preprocess is not None
    assert preprocess.interpolation == "bicubic"
    small = foreign_state_dict(create_model("resnet-20", shortcut="B", stride_in="3x3"), "torchvision")
    torch.save(small, tmp_path / "small.pth")
    assert load_model(tmp_path / "small.pth").preprocess is None


@pytest.mark.parametrize(
    "change",
    [
        {"conv1.weight": torch.tensor(1.0)},
        {"fc.weight": torch.tensor(1.0)},
        {"layer1.0.conv1.weight": torch.tensor(1.0)},
        {"layer1.3000000.conv1.weight": torch.zeros(1)},
        {"layer9.0.conv1.weight": torch.zeros(1)},
        {3: torch.zeros(1)},
        {"conv1.weight": torch.zeros(64, 3, 7, 7, dtype=torch.int8)},
        {"conv1.weight": torch.zeros(64, 3, 7, 7).to_sparse()},
    ],
    ids=lambda change: str(next(iter(change))),
)
def test_malformed_files_are_one_sentence(change: dict[object, Tensor], tmp_path: Path) -> None:
    """Wrong ranks, absurd block numbers, odd keys and layouts: named, refused, and nothing large is built."""
    state = foreign_state_dict(create_model("resnet-18-v1.5"), "torchvision")
    torch.save(state | change, tmp_path / "odd.pth")  # pyright: ignore[reportOperatorIssue]
    with pytest.raises(UserError, match=r"odd\.pth"):
        load_model(tmp_path / "odd.pth")


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
