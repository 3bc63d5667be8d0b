"""Alignment: equal map sizes at equal heights, nothing on top of anything else."""

from __future__ import annotations

from itertools import pairwise

import pytest

from reslab.drawing.columns import make_column
from reslab.drawing.placement import BOX_HEIGHT, Place, place_columns
from reslab.spec import find


def place(*names: str) -> list[Place]:
    """Place named networks side by side."""
    return place_columns([make_column(find(name)) for name in names])


def starts(placed: Place) -> dict[str, float]:
    """Return the height at which each map size begins."""
    heights: dict[str, float] = {}
    for box, top in zip(placed.column.boxes, placed.tops, strict=True):
        heights.setdefault(box.size, top)
    return heights


def test_equal_sizes_begin_at_equal_heights() -> None:
    """VGG-19, plain-34 and ResNet-34 stand as in Fig. 3."""
    vgg, plain, resnet = place("vgg-19", "plain-34", "resnet-34")
    assert plain.tops == resnet.tops
    shared = starts(vgg).keys() & starts(plain).keys()
    assert len(shared) == 6
    assert all(starts(vgg)[size] == starts(plain)[size] for size in shared)


def test_a_size_is_noted_once_where_neighbours_share_it() -> None:
    """The note on a size stands beside the leftmost of the columns it holds for."""
    vgg, plain, _ = place("vgg-19", "plain-34", "resnet-34")
    assert [note for note in vgg.notes if note] == [f"output size: {size}" for size in (224, 112, 56, 28, 14, 7, 1)]
    assert not any(plain.notes)


@pytest.mark.parametrize(
    "names",
    [
        ("vgg-19", "plain-34", "resnet-34"),
        ("resnet-50-v1.5", "resnet-152", "gated-resnet-34"),
        ("resnet-110", "highway-19", "lenet-5", "dense-resnet-8"),
        ("alexnet", "googlenet", "vit-b-16"),
    ],
)
def test_boxes_do_not_overlap(names: tuple[str, ...]) -> None:
    """Boxes follow each other downwards with room between, and columns follow each other to the right."""
    placed = place(*names)
    for column in placed:
        assert all(below - above > BOX_HEIGHT for above, below in pairwise(column.tops))
        assert column.left <= column.x - column.box_width / 2
        assert column.x + column.box_width / 2 <= column.right
    assert all(one.right < other.left for one, other in pairwise(placed))


def test_blocks_are_never_pulled_apart() -> None:
    """Where the map halves inside a block, the block moves as a whole."""
    bottleneck, deeper = place("resnet-50-v1.5", "resnet-152")
    assert starts(bottleneck) == starts(deeper)
    tops = iter(bottleneck.tops)
    for step in bottleneck.column.steps:
        heights = [next(tops) for _ in step.boxes]
        assert all(below - above < 2 * BOX_HEIGHT for above, below in pairwise(heights))


def test_columns_that_cannot_be_aligned_stand_for_themselves() -> None:
    """VGG's last pool enlarges a map of 1 to 7, where another network goes from 7 to 1: neither moves the other."""
    enlarging = make_column(find("vgg-16", {"input_size": 32}))
    shrinking = make_column(find("resnet-20", {"stem.stride": 5}))
    placed = place_columns([enlarging, shrinking])
    assert [one.tops for one in placed] == [place_columns([column])[0].tops for column in (enlarging, shrinking)]


def test_networks_of_different_inputs_are_not_aligned() -> None:
    """A CIFAR network beside an ImageNet network starts at the top."""
    imagenet, cifar = place("resnet-34", "resnet-20")
    assert imagenet.tops[0] == cifar.tops[0]
    assert cifar.tops == place("resnet-20")[0].tops
