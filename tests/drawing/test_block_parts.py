"""Distinct blocks: operators in order, shortcuts, gates and names."""

from __future__ import annotations

import re

import pytest
import torch

from reslab.drawing.block_parts import BlockPicture, list_blocks
from reslab.networks.build import build
from reslab.spec import NetworkSpec, find


def pictures_of(name: str, **overrides: object) -> list[BlockPicture]:
    """Return the pictures of a named network's blocks."""
    spec = find(name, overrides)
    assert isinstance(spec, NetworkSpec)
    return list_blocks(spec)


def texts(picture: BlockPicture) -> tuple[list[str], list[str], list[str]]:
    """Return what is written before the split, in F, and after the addition."""
    before, branch, after = ([part.text for part in parts] for parts in (picture.before, picture.branch, picture.after))
    return before, branch, after


CONV, BN, RELU = "3x3 conv, 16", "BN", "ReLU"


@pytest.mark.parametrize(
    ("order", "branch", "after"),
    [
        ("post", [CONV, BN, RELU, CONV, BN], [RELU]),
        ("pre", [BN, RELU, CONV, BN, RELU, CONV], []),
        ("bn-after-addition", [CONV, BN, RELU, CONV], [BN, RELU]),
        ("relu-before-addition", [CONV, BN, RELU, CONV, BN, RELU], []),
    ],
)
def test_operators_stand_in_their_order(order: str, branch: list[str], after: list[str]) -> None:
    """An identity block shows the operators of each order from input to output."""
    picture = next(picture for picture in pictures_of("resnet-20", order=order) if picture.names.endswith("conv2_3"))
    assert texts(picture) == ([], branch, after)


def test_the_paper_s_blocks() -> None:
    """ResNet-50 has eight distinct blocks: in each stage one that changes dimensions, and the identity blocks."""
    pictures = pictures_of("resnet-50")
    assert [picture.names for picture in pictures] == [
        "conv2_1",
        "conv2_2, conv2_3",
        "conv3_1",
        "conv3_2 … conv3_4",
        "conv4_1",
        "conv4_2 … conv4_6",
        "conv5_1",
        "conv5_2, conv5_3",
    ]
    assert [picture.shortcut for picture in pictures] == ["projection", "identity"] * 4
    # Fig. 5, right.
    assert pictures[1].source == pictures[1].result == "256-d, 56x56"
    assert texts(pictures[1]) == ([], ["1x1 conv, 64", BN, RELU, "3x3 conv, 64", BN, RELU, "1x1 conv, 256", BN], [RELU])
    assert (pictures[2].source, pictures[2].result) == ("256-d, 56x56", "512-d, 28x28")
    assert [part.text for part in pictures[2].beside] == ["projection W_s:\n1x1 conv, 512, /2", BN]


def test_zero_padding_says_where_the_zeros_go() -> None:
    """Option A names the channels it adds, its stride, and both sides where it pads both."""
    for where, more in (("after", ""), ("both", "\n8 before, 8 after")):
        picture = pictures_of("resnet-20", zero_padding=where)[1]
        assert picture.names == "conv3_1"
        assert [part.text for part in picture.beside] == [f"zero padding:\n+16 channels, /2{more}"]
        assert picture.notes[0] == "y = ReLU(F(x) + pad(x))"


def test_preactivation_shared_by_branch_and_shortcut() -> None:
    """Where dimensions change, normalization and ReLU stand above the split; the first block has none of its own."""
    pictures = {picture.names: picture for picture in pictures_of("resnet-20", order="pre", shortcut="B")}
    assert list(pictures)[-1] == "after conv4_3"
    assert texts(pictures["after conv4_3"]) == ([], [BN, RELU], [])
    assert texts(pictures["conv2_1"]) == ([], [CONV, BN, RELU, CONV], [])
    assert texts(pictures["conv3_1"]) == ([BN, RELU], ["3x3 conv, 32, /2", BN, RELU, "3x3 conv, 32"], [])
    assert [part.text for part in pictures["conv3_1"].beside] == ["projection W_s:\n1x1 conv, 32, /2"]
    assert pictures["conv3_1"].notes == ("y = F(x′) + W_s x′", "with x′ = ReLU(BN(x))")


@pytest.mark.parametrize(
    ("norm", "word"), [("batch", ["BN"]), ("group", ["GN"]), ("frozen", ["frozen BN"]), ("none", [])]
)
def test_norms(norm: str, word: list[str]) -> None:
    """Each normalization has its word, and none has no box."""
    picture = pictures_of("resnet-20", norm=norm, shortcut="B")[1]
    assert texts(picture)[1] == ["3x3 conv, 32, /2", *word, RELU, "3x3 conv, 32", *word]
    assert [part.text for part in picture.beside][1:] == word


def test_gates() -> None:
    """A gated block shows T(x) with its stride and first bias, and the sum that it weighs."""
    identity, projection = pictures_of("gated-resnet-20")[:2]
    assert identity.gate
    assert identity.gate.text == "gate T(x) =\nsigmoid(1x1 conv, 16),\nbias −2 at first"
    assert identity.notes == ("y = ReLU(T·F(x) + (1 − T)·x)",)
    assert projection.gate
    assert "sigmoid(1x1 conv, 32, /2)" in projection.gate.text
    assert projection.notes == ("y = ReLU(T·F(x) + (1 − T)·W_s x)",)
    assert not any(picture.gate for picture in pictures_of("resnet-20"))


def test_plain_blocks_have_no_shortcut() -> None:
    """A plain block is a chain, and says so."""
    for picture in pictures_of("plain-34"):
        assert picture.shortcut is None
        assert picture.beside == ()
        assert picture.notes == ("y = ReLU(F(x))", "plain: no shortcut")


def test_regularization_and_excitation_stand_where_they_act() -> None:
    """Dropout stands before the last layer, excitation and stochastic depth at the end of F, with their rates."""
    picture = pictures_of("resnet-20", dropout=0.3, squeeze_excitation=4, stochastic_depth=0.45)[0]
    assert texts(picture)[1] == [
        *[CONV, BN, RELU],
        "dropout, p = 0.3",
        *[CONV, BN],
        "squeeze-excitation, 1/4",
        "stochastic depth\np = 0.05 … 0.15",
    ]


@pytest.mark.parametrize(
    ("revision", "last"), [(None, [BN, RELU, "dropout, p = 0.3", CONV]), (1, ["dropout, p = 0.3", BN, RELU, CONV])]
)
def test_dropout_of_preactivation_is_drawn_where_it_acts(revision: int | None, last: list[str]) -> None:
    """Between the last ReLU and its convolution, or where the first revision had it."""
    picture = pictures_of("resnet-20", order="pre", dropout=0.3, pre_revision=revision)[1]
    assert texts(picture)[1] == [BN, RELU, CONV, *last]


def test_projections_share_the_preactivation_they_are_drawn_under() -> None:
    """With option C in every block but the first; by the first revision where dimensions change."""
    for revision, before, note in ((None, [BN, RELU], "y = F(x′) + W_s x′"), (1, [], "y = F(x) + W_s x")):
        pictures = pictures_of("resnet-20", order="pre", shortcut="C", pre_revision=revision)
        picture = next(picture for picture in pictures if picture.names == "conv2_2, conv2_3")
        assert (texts(picture)[0], picture.notes[0]) == (before, note)


def test_single_layer_blocks_have_no_dropout() -> None:
    """With one layer there is nothing to drop out between, and the network builds none."""
    picture = pictures_of("resnet-18", block="single", dropout=0.3)[0]
    assert texts(picture) == ([], ["3x3 conv, 64", BN], [RELU])


def test_maxout_widens_the_layers_it_takes_its_pieces_from() -> None:
    """Maxout takes the place of the ReLU inside F only."""
    picture = pictures_of("resnet-20", maxout=2)[0]
    assert texts(picture) == ([], ["3x3 conv, 2 x 16", BN, "maxout of 2 pieces", CONV, BN], [RELU])


def test_vectors() -> None:
    """Over vectors the layers are fully connected and the shapes have no map."""
    picture = pictures_of("dense-resnet-8", shortcut="C")[0]
    assert picture.source == "64-d"
    assert [part.text for part in picture.branch if part.kind == "weight"] == ["fc 64", "fc 64"]
    assert picture.beside[0].text == "projection W_s:\nfc 64"


def test_like_blocks_far_apart_share_a_picture() -> None:
    """Where a stage comes back to an earlier width, its blocks join those of that width, and runs stay apart."""
    overrides = {f"stages.{index}.stride": 1 for index in (1, 2)} | {"stages.2.width": 16, "shortcut": "B"}
    names = [picture.names for picture in pictures_of("resnet-20", **overrides)]
    assert names == ["conv2_1 … conv2_3, conv4_2, conv4_3", "conv3_1", "conv3_2, conv3_3", "conv4_1"]


def test_like_blocks_of_different_stages_share_a_picture() -> None:
    """A stage that neither strides nor widens only repeats the block before it."""
    overrides = {"stages.1.stride": 1, "stages.1.width": 16, "stages.2.stride": 1, "stages.2.width": 16}
    assert [picture.names for picture in pictures_of("resnet-20", **overrides)] == ["conv2_1 … conv4_3"]


@pytest.mark.parametrize("name", ["resnet-34", "resnet-50-v1.5", "resnet-110", "gated-resnet-20"])
def test_shapes_are_those_of_the_network(name: str) -> None:
    """Each picture ends in the shape that the real block puts out."""
    spec = find(name)
    seen = build(spec, device="meta").eval().activations(torch.empty(1, *spec.input_shape, device="meta"))
    for picture in pictures_of(name):
        _, width, *extent = seen[re.split("[ ,]", picture.names)[0]].shape
        assert picture.result == f"{width}-d, {'x'.join(map(str, extent))}"
