"""What is derived from a spec: depth, layout, strides, the plain twin."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reslab.errors import UserError
from reslab.spec import cifar, imagenet
from reslab.spec.network import NetworkSpec


@pytest.mark.parametrize("depth", [18, 34, 50, 101, 152])
def test_imagenet_depth_is_derived(depth: int) -> None:
    """The layers of Table 1 add up to the network's name."""
    assert imagenet(depth).depth == depth


@pytest.mark.parametrize(
    ("depth", "shortcut", "projections"), [(34, "A", 0), (34, "B", 3), (34, "C", 16), (50, "B", 4)]
)
def test_options_place_projections(depth: int, shortcut: str, projections: int) -> None:
    """Option A projects nowhere, B where dimensions change, C everywhere."""
    plans = list(imagenet(depth, shortcut=shortcut).layout())
    assert sum(plan.shortcut == "projection" for plan in plans) == projections


def test_option_a_pads_only_where_dimensions_change() -> None:
    """ResNet-34 A has 16 shortcuts: 13 identities and 3 zero paddings."""
    kinds = [plan.shortcut for plan in imagenet(34).layout()]
    assert (kinds.count("identity"), kinds.count("zero-padding"), len(kinds)) == (13, 3, 16)


def test_blocks_have_the_papers_names() -> None:
    """Blocks are called conv2_1 to conv5_3; down-sampling is at conv3_1, conv4_1 and conv5_1."""
    plans = list(imagenet(50).layout())
    assert [plan.name for plan in plans][:4] == ["conv2_1", "conv2_2", "conv2_3", "conv3_1"]
    assert [plan.name for plan in plans if plan.stride == 2] == ["conv3_1", "conv4_1", "conv5_1"]


@pytest.mark.parametrize(("stride_in", "strides"), [("1x1", [2, 1, 1]), ("3x3", [1, 2, 1])])
def test_stride_sits_where_it_is_asked(stride_in: str, strides: list[int]) -> None:
    """v1 strides in the first 1x1, v1.5 in the 3x3."""
    spec = replace(imagenet(50), stride_in=stride_in)
    plan = next(plan for plan in spec.layout() if plan.name == "conv3_1")
    assert [layer.stride for layer in plan.layers] == strides


def test_stages_know_stride_and_width() -> None:
    """Detection reads strides 4 to 32 and widths 256 to 2048 off ResNet-50."""
    assert imagenet(50).stage_strides == {"conv2_x": 4, "conv3_x": 8, "conv4_x": 16, "conv5_x": 32}
    assert imagenet(50).stage_widths == {"conv2_x": 256, "conv3_x": 512, "conv4_x": 1024, "conv5_x": 2048}
    assert cifar(20).stage_strides == {"conv2_x": 1, "conv3_x": 2, "conv4_x": 4}


def test_the_plain_twin_differs_in_its_shortcuts_alone() -> None:
    """`plain()` keeps everything but the shortcuts and what only they give a meaning."""
    spec = replace(cifar(56), zero_gamma=True, stochastic_depth=0.5)
    assert spec.plain() == replace(cifar(56), shortcut="none")
    assert replace(cifar(20), order="bn-after-addition").plain().order == "post"


def test_stochastic_depth_rises_linearly() -> None:
    """The last block is dropped with the full rate, the first with an n-th of it."""
    rates = [plan.drop_rate for plan in replace(cifar(20), stochastic_depth=0.9).layout()]
    assert rates == pytest.approx([0.1 * number for number in range(1, 10)])


def test_preactivation_is_shared_where_dimensions_change() -> None:
    """In order=pre the first block uses the stem's activation, later changes share theirs with the shortcut."""
    plans = list(replace(cifar(20), order="pre").layout())
    assert [plan.name for plan in plans if plan.shares_preactivation] == ["conv3_1", "conv4_1"]
    bare = [plan.name for plan in plans if plan.layers[0].operators == ("conv",)]
    assert bare == ["conv2_1", "conv3_1", "conv4_1"]


def test_a_projection_shares_the_preactivation() -> None:
    """He et al. (2016): with option C every block but the first does; by the first revision those that change."""
    spec = replace(cifar(20), order="pre", shortcut="C")
    sharing = [plan.name for plan in spec.layout() if plan.shares_preactivation]
    assert sharing == [plan.name for plan in spec.layout()][1:]
    assert all(plan.layers[0].operators == ("conv",) for plan in spec.layout())
    before = list(replace(spec, pre_revision=1).layout())
    assert [plan.name for plan in before if plan.shares_preactivation] == ["conv3_1", "conv4_1"]


@pytest.mark.parametrize(
    ("order", "revision", "operators"),
    [
        ("post", None, ("dropout", "conv", "norm")),
        ("pre", 2, ("norm", "activation", "dropout", "conv")),
        ("pre", 1, ("dropout", "norm", "activation", "conv")),
        ("bn-after-addition", None, ("dropout", "conv")),
        ("relu-before-addition", None, ("dropout", "conv", "norm", "activation")),
    ],
)
@pytest.mark.parametrize("block", ["basic", "bottleneck"])
def test_dropout_stands_before_the_last_convolution(
    block: str, order: str, revision: int | None, operators: tuple[str, ...]
) -> None:
    """Right before it, as in wide residual networks; by the first revision of pre-activation, before its norm."""
    for plan in replace(cifar(20), block=block, order=order, dropout=0.3, pre_revision=revision).layout():
        *first, last = plan.layers
        assert last.operators == operators
        assert not any("dropout" in layer.operators for layer in first)


def test_one_layer_has_nothing_to_drop_out_between() -> None:
    """So blocks of a single layer have no dropout."""
    plans = replace(cifar(20), block="single", dropout=0.3).layout()
    assert not any("dropout" in layer.operators for plan in plans for layer in plan.layers)


@pytest.mark.parametrize(
    "fields",
    [
        {"dropout": 0.3},
        {"shortcut": "C"},
        {"order": "pre"},
        {"order": "pre", "shortcut": "B"},
        {"order": "pre", "shortcut": "gated"},
        {"order": "pre", "dropout": 0.3, "block": "single"},
        {"order": "pre", "shortcut": "C", "stages": cifar(8).stages},  # the first block, and two that change
    ],
    ids=str,
)
def test_a_revision_is_none_where_nothing_depends_on_it(fields: dict[str, object]) -> None:
    """Whatever was asked for: equal networks are equal specs."""
    spec = replace(cifar(20), **fields)
    assert spec.pre_revision is None
    for revision in (1, 2):
        again = replace(spec, pre_revision=revision)
        assert again == spec
        assert list(again.layout()) == list(spec.layout())


@pytest.mark.parametrize("fields", [{"dropout": 0.3}, {"shortcut": "C"}, {"shortcut": "none", "dropout": 0.3}], ids=str)
def test_the_revision_is_todays_unless_another_is_asked_for(fields: dict[str, object]) -> None:
    """And the one asked for stays until nothing depends on it any more."""
    spec = replace(cifar(20), order="pre", **fields)
    assert spec.pre_revision == 2
    before = replace(spec, pre_revision=1)
    assert list(before.layout()) != list(spec.layout())
    assert replace(before, classes=7).pre_revision == 1
    assert replace(before, order="post").pre_revision is None
    with pytest.raises(UserError, match="pre_revision is 3; choose 1, 2 or None"):
        replace(spec, pre_revision=3)


def test_the_plain_twin_keeps_the_revision_it_needs() -> None:
    """Of dropout it does, of projections it has none."""
    spec = replace(cifar(20), order="pre", shortcut="C", pre_revision=1)
    assert spec.plain().pre_revision is None
    assert replace(spec, dropout=0.3).plain().pre_revision == 1


def test_a_spec_is_frozen_and_hashable() -> None:
    """Specs can be keys, and equal specs are one."""
    assert len({cifar(20), cifar(20), cifar(32)}) == 2
    with pytest.raises(AttributeError):
        cifar(20).classes = 3  # pyright: ignore[reportAttributeAccessIssue]
    assert isinstance(cifar(20), NetworkSpec)
