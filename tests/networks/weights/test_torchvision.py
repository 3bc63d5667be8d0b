"""torchvision and timm, both ways: the same weights give the same logits."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import timm
import torch
import torchvision
from safetensors.torch import save_file
from torch import Tensor, nn

from reslab.errors import UserError
from reslab.networks import create_model, foreign_state_dict, load_model
from reslab.spec import find, name_of


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
        "resnext50_32x4d": "in 32 groups, as in ResNeXt, which is not among our networks",
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
