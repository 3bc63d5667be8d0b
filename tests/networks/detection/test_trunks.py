"""Networks as trunks: their own maps under their own names, and refusals of what cannot find objects."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from reslab.errors import UserError
from reslab.networks import build
from reslab.networks.detection.trunks import ResidualTrunk, VggTrunk, make_trunk
from reslab.networks.layers import FrozenBatchNorm
from reslab.networks.resnet import ResidualNetwork
from reslab.spec import NetworkSpec, Spec, find
from reslab.spec.detection import Detection


@pytest.mark.parametrize("fields", [{}, {"order": "pre"}, {"checkpointing": True}, {"norm": "group"}])
def test_a_trunk_gives_the_networks_own_maps(fields: dict[str, object]) -> None:
    """Stage by stage, under the network's own names."""
    spec = find("resnet-18", {"stem.width": 8, "stages.3.width": 16, "shortcut": "B", **fields})
    network = build(spec)
    assert isinstance(network, ResidualNetwork)
    trunk = ResidualTrunk(network).eval()
    assert set(network.state_dict()) - set(trunk.state_dict()) == {"classifier.weight", "classifier.bias"}
    images = torch.randn(2, 3, 64, 96, requires_grad=True)
    seen = network.eval().activations(images)
    maps = trunk.maps(images)
    assert [each.shape[1:] for each in maps] == [
        (width, 64 // s, 96 // s) for width, s in zip(trunk.widths, (4, 8, 16, 32), strict=True)
    ]
    for map_, name in zip(maps, ("conv2_2", "conv3_2", "conv4_2", "conv5_2"), strict=True):
        torch.testing.assert_close(map_, seen[name])
    torch.testing.assert_close(trunk.shared(images), seen["conv4_2"])
    torch.testing.assert_close(trunk.of_regions(trunk.shared(images)), seen["pooled"])
    assert trunk.strides == (4, 8, 16, 32) and trunk.region_width == 16


def test_small_networks_serve_too() -> None:
    """Those for CIFAR have three stages and a stride of two before the last."""
    trunk = make_trunk(find("resnet-20"), Detection().settle())
    assert trunk.shared(torch.randn(1, 3, 32, 32)).shape == (1, 32, 16, 16)
    assert trunk.strides == (1, 2, 4)


def test_normalizations_are_constant_unless_they_are_to_be_trained() -> None:
    """With the epsilon asked for; frozen stages keep theirs constant anyway."""
    spec = find("resnet-18")
    frozen = make_trunk(spec, Detection(norm_epsilon=0.5, freeze="none").settle())
    norms = [module for name, module in frozen.named_modules() if name.endswith("norm")]
    assert norms and all(isinstance(norm, FrozenBatchNorm) and norm.eps == 0.5 for norm in norms)
    trained = make_trunk(spec, Detection(norm="trained", freeze="conv2").settle())
    constant = {name for name, module in trained.named_modules() if isinstance(module, FrozenBatchNorm)}
    assert constant and all(name.startswith(("stem", "blocks.conv2")) for name in constant)


@pytest.mark.parametrize(
    ("network", "fields", "trained"),
    [
        ("resnet-18", {}, "blocks.conv5_"),
        ("resnet-20", {"norm": "trained"}, "blocks.conv4_"),
        ("resnet-18", {"head": "fpn"}, ()),
        ("vgg-16", {"pooled_side": 7}, "model.classifier."),
    ],
)
def test_all_that_is_shared_can_be_frozen(network: str, fields: dict[str, Any], trained: str | tuple[str, ...]) -> None:
    """Then only what regions go through is trained, which a trunk can do without."""
    with torch.device("meta"):
        trunk = make_trunk(find(network), Detection(freeze="shared", **fields).settle())
    left = {name for name, weight in trunk.named_parameters() if weight.requires_grad}
    assert left == {name for name, _ in trunk.named_parameters() if name.startswith(trained)}
    norms = {name for name, module in trunk.named_modules() if isinstance(module, nn.BatchNorm2d)}
    assert all(name.startswith(trained) for name in norms)
    layers = {weight for layer in trunk.region_layers() for weight in layer.parameters()}
    if left:
        assert layers == {weight for weight in trunk.parameters() if weight.requires_grad}
    trunk.drop_region_layers()
    assert not layers & set(trunk.parameters())
    assert trunk.shared(torch.empty(1, 3, 64, 64, device="meta")).shape[0] == 1


def test_vgg_has_its_layers_for_regions() -> None:
    """conv1 and conv2 are frozen, and the names are those its weights have."""
    with torch.device("meta"):
        trunk = make_trunk(find("vgg-16", {"classes": 20}), Detection(pooled_side=7).settle())
        assert isinstance(trunk, VggTrunk)
        shared = trunk.shared(torch.empty(1, 3, 96, 64))
        assert shared.shape == (1, 512, 6, 4)
        assert trunk.of_regions(torch.empty(5, 512, 7, 7)).shape == (5, 4096)
        names = set(build(find("vgg-16", {"classes": 20})).state_dict())
    assert names - set(trunk.state_dict()) == {"model.classifier.6.weight", "model.classifier.6.bias"}
    assert set(trunk.state_dict()) < names
    frozen = {name for name, weight in trunk.named_parameters() if not weight.requires_grad}
    assert {int(name.split(".")[2]) for name in frozen} == {0, 2, 5, 7}
    assert all(name.startswith("model.features.") for name in frozen)


@pytest.mark.parametrize(
    ("spec", "detection", "sentence"),
    [
        (find("lenet-5"), Detection(), "lenet-5 cannot find objects; use a residual or plain network"),
        (find("resnet-20", {"dimensions": 1}), Detection(), "cannot find objects"),
        (find("resnet-20"), Detection(head="fpn"), r"needs stages of strides 4, 8, 16 and 32, but resnet-20 has \[1"),
        (
            find("resnet-18"),
            Detection(head="fpn", anchor_sides=(8,)),
            r"anchor_sides has 1 sides; task\.head=fpn needs",
        ),
        (find("vgg-16"), Detection(), "whose layers take maps of 7x7"),
    ],
)
def test_what_cannot_find_objects_is_refused(spec: Spec, detection: Detection, sentence: str) -> None:
    """With what can."""
    assert isinstance(find("resnet-18"), NetworkSpec)
    with pytest.raises(UserError, match=sentence):
        make_trunk(spec, detection.settle())
