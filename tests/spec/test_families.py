"""The paper's constructors and their rules."""

from __future__ import annotations

import pytest

from reslab.errors import UserError
from reslab.spec import cifar, dense, imagenet
from reslab.spec.families import wide


@pytest.mark.parametrize(("n", "depth"), [(3, 20), (5, 32), (7, 44), (9, 56), (18, 110), (200, 1202)])
def test_cifar_has_n_blocks_a_stage(n: int, depth: int) -> None:
    """6n+2 layers are three stages of n blocks, 16, 32 and 64 wide."""
    stages = cifar(depth).stages
    assert [(stage.blocks, stage.width, stage.stride) for stage in stages] == [(n, 16, 1), (n, 32, 2), (n, 64, 2)]


@pytest.mark.parametrize(("block", "depth", "n"), [("bottleneck", 164, 18), ("single", 11, 3), ("basic", 8, 1)])
def test_other_blocks_have_their_own_rule(block: str, depth: int, n: int) -> None:
    """Bottlenecks give 9n+2 layers, single-layer blocks 3n+2."""
    spec = cifar(depth, block=block)
    assert (spec.stages[0].blocks, spec.depth) == (n, depth)


@pytest.mark.parametrize(
    ("depth", "block", "sentence"),
    [
        (21, "basic", r"depth 21 is not 6n\+2.*choose 20 or 26"),
        (29, "basic", r"29 with block=bottleneck"),
        (32, "bottleneck", r"depth 32 is not 9n\+2.*choose 29 or 38"),
        (2, "basic", r"choose 8 or 14"),
    ],
)
def test_a_wrong_depth_names_the_rule(depth: int, block: str, sentence: str) -> None:
    """The error states the rule and the nearest depths."""
    with pytest.raises(UserError, match=sentence):
        cifar(depth, block=block)


def test_imagenet_has_five_depths() -> None:
    """Anything not in Table 1 is refused with the list."""
    with pytest.raises(UserError, match="18, 34, 50, 101 or 152"):
        imagenet(20)
    assert [imagenet(depth).shortcut for depth in (18, 34, 50, 101, 152)] == ["A", "A", "B", "B", "B"]


def test_dense_stacks_have_two_layers_a_block() -> None:
    """Depth counts stem, blocks and classifier; odd depths are refused."""
    assert dense(10).depth == 10
    assert dense(10).input_shape == (64,)
    with pytest.raises(UserError, match=r"2n\+2"):
        dense(7)


@pytest.mark.parametrize(("depth", "factor", "widths"), [(16, 4, (64, 128, 256)), (28, 10, (160, 320, 640))])
def test_wide_networks_have_6n_plus_4_layers(depth: int, factor: int, widths: tuple[int, ...]) -> None:
    """Counted with their three projections; pre-activation, a stem of 16."""
    spec = wide(depth, factor)
    assert tuple(stage.width for stage in spec.stages) == widths
    assert {stage.blocks for stage in spec.stages} == {(depth - 4) // 6}
    assert (spec.order, spec.shortcut, spec.stem.width, spec.dropout) == ("pre", "B", 16, 0.0)
    projections = sum(plan.shortcut == "projection" for plan in spec.layout())
    assert 1 + sum(len(plan.layers) for plan in spec.layout()) + projections == depth


def test_wide_networks_name_their_rule() -> None:
    """The nearest depths, and a factor that widens."""
    with pytest.raises(UserError, match=r"depth 18 is not 6n\+4.*choose 16 or 22"):
        wide(18, 4)
    with pytest.raises(UserError, match=r"factor 0 is not a width"):
        wide(16, 0)
