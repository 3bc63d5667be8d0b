"""Networks taken apart: put together again they are the same, and what is left of a block is what is said."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from reslab.analysis.anatomy import Anatomy, take_apart
from reslab.errors import UserError
from reslab.networks import Network, build, create_model
from reslab.networks.blocks import Block
from reslab.spec import find

NETWORKS = [
    ("cifar-resnet-14", {}),
    ("cifar-resnet-14", {"order": "pre"}),
    ("cifar-resnet-14", {"order": "bn-after-addition"}),
    ("cifar-resnet-14", {"shortcut": "B", "norm": "none"}),
    ("cifar-resnet-14", {"shortcut": "C", "order": "pre"}),
    ("cifar-resnet-11", {"shortcut": "gated", "block": "bottleneck"}),
    ("cifar-plain-14", {}),
    ("cifar-plain-14", {"order": "pre"}),
    ("highway-19", {}),
    ("vgg-16", {"classes": 10}),
    ("vgg-16-bn", {"classes": 10}),
]


def warmed(name: str, **fields: object) -> Network:
    """A network whose normalizations have seen something, in evaluation mode."""
    network = create_model(name, **fields)  # pyright: ignore[reportArgumentType]
    if not name.startswith("vgg"):
        with torch.no_grad():
            network(1 + 2 * torch.randn(8, *network.spec.input_shape))
    return network.eval()


def some_images(network: Network, count: int = 2) -> Tensor:
    shape = network.spec.input_shape
    return torch.randn(count, shape[0], 32, 32)


@torch.no_grad()
def put_together(anatomy: Anatomy, x: Tensor, *, without: int | None = None) -> Tensor:
    x = anatomy.before(x)
    for index, part in enumerate(anatomy.parts):
        x = anatomy.enter(index, x)
        x = part.bypass(x) if index == without else part.module(x)
    return anatomy.after(x)


@pytest.mark.parametrize(("name", "fields"), NETWORKS, ids=str)
def test_parts_together_are_the_network(name: str, fields: dict[str, str]) -> None:
    """Bit for bit; and without any one of them it still runs, and changes nothing that it was given."""
    network = warmed(name, **fields)
    anatomy, x = take_apart(network), some_images(network)
    before = x.clone()
    with torch.no_grad():
        expected = network(x)
    assert torch.equal(put_together(anatomy, x), expected)
    for index in range(0, len(anatomy.parts), 3):
        assert not torch.equal(put_together(anatomy, x, without=index), expected)
    assert torch.equal(x, before)
    assert torch.equal(put_together(anatomy, x), expected)


@pytest.mark.parametrize(
    ("fields", "left"),
    [({}, "zero-padding"), ({"shortcut": "B"}, "projection"), ({"shortcut": "none"}, "average-pool")],
)
def test_what_is_left_of_blocks_is_named(fields: dict[str, str], left: str) -> None:
    """Where dimensions change, another thing than the identity."""
    parts = take_apart(build(find("cifar-resnet-14", fields), device="meta")).parts
    assert [part.left for part in parts] == ["identity", "identity", left, "identity", left, "identity"]
    assert [part.exchangeable for part in parts] == [part.left == "identity" for part in parts]
    assert [part.stage for part in parts] == ["conv2_x"] * 2 + ["conv3_x"] * 2 + ["conv4_x"] * 2


def test_the_first_block_of_preactivation_stays_in_its_place() -> None:
    """It alone is given an activated map."""
    parts = take_apart(build(find("cifar-resnet-14", {"order": "pre"}), device="meta")).parts
    assert [part.exchangeable for part in parts] == [False, True, False, True, False, True]


def test_a_deleted_branch_is_that_of_zeros() -> None:
    """With the last normalization of the branch zero, the block gives what is left without it."""
    for fields in ({}, {"shortcut": "B"}, {"shortcut": "C"}):
        network = warmed("cifar-resnet-14", **fields)
        anatomy, x = take_apart(network), some_images(network)
        block = anatomy.parts[2].module
        assert isinstance(block, Block) and block.last_norm is not None
        without = put_together(anatomy, x, without=2)
        for name in ("weight", "bias"):
            block.last_norm.get_parameter(name).data.zero_()
        assert torch.equal(put_together(anatomy, x), without)


def test_plain_blocks_that_change_dimensions_leave_means_and_zeros() -> None:
    """Of two by two pixels; new channels come after the old ones."""
    part = take_apart(warmed("cifar-plain-14")).parts[2]
    x = torch.randn(2, 16, 8, 8)
    y = part.bypass(x)
    assert torch.equal(y[:, :16], F.avg_pool2d(x, 2))
    assert y.shape == (2, 32, 4, 4) and not y[:, 16:].any()


def test_odd_maps_lose_half_a_pixel_as_convolutions_do() -> None:
    """What is left has the size of what was there."""
    network = warmed("cifar-plain-14")
    part, x = take_apart(network).parts[2], torch.randn(1, 16, 7, 7)
    assert part.bypass(x).shape == part.module(x).shape == (1, 32, 4, 4)


def test_vggs_come_apart_at_convolutions() -> None:
    """Twelve after the stem, each with its ReLU; pools stand between."""
    anatomy = take_apart(build(find("vgg-16"), device="meta"))
    names = [part.name for part in anatomy.parts]
    assert names[:3] == ["conv1_2", "conv2_1", "conv2_2"] and names[-1] == "conv5_3" and len(names) == 12
    assert [name for name, part in zip(names, anatomy.parts, strict=True) if part.left != "identity"] == [
        "conv2_1",
        "conv3_1",
        "conv4_1",
    ]
    assert sorted(anatomy.between) == [1, 3, 6, 9]


@pytest.mark.parametrize("name", ["lenet-5", "densenet-121"])
def test_others_are_refused(name: str) -> None:
    """In one sentence."""
    with pytest.raises(UserError, match=f"{name} has no blocks that can be told apart"):
        take_apart(build(find(name), device="meta"))
