"""Columns of plain and residual networks: boxes, shortcuts, sizes and folding."""

from __future__ import annotations

from collections import Counter

import pytest

from reslab.drawing.columns import list_steps, make_column
from reslab.drawing.parts import Box, Step
from reslab.spec import find


def steps_of(name: str, **overrides: object) -> list[Step]:
    """Return the steps of a named network."""
    return list_steps(find(name, overrides))


def boxes_of(name: str, **overrides: object) -> list[Box]:
    """Return the boxes of a named network."""
    return [box for step in steps_of(name, **overrides) for box in step.boxes]


@pytest.mark.parametrize(
    "name", ["plain-18", "plain-34", "resnet-18", "resnet-34", "resnet-50", "resnet-20", "plain-56"]
)
def test_each_weight_layer_has_a_box(name: str) -> None:
    """Nothing is folded, and the boxes of weight layers are as many as the depth."""
    boxes = boxes_of(name)
    assert not any(box.folded for box in boxes)
    assert {box.layers for box in boxes} == {0, 1}
    assert sum(box.layers for box in boxes) == int(name.rpartition("-")[2])


@pytest.mark.parametrize(
    ("name", "shortcut", "expected"),
    [
        ("resnet-34", "A", {"identity": 13, "zero-padding": 3}),
        ("resnet-34", "B", {"identity": 13, "projection": 3}),
        ("resnet-34", "C", {"projection": 16}),
        ("plain-34", "none", {}),
        ("resnet-50", "B", {"identity": 12, "projection": 4}),
        ("resnet-50", "A", {"identity": 12, "zero-padding": 4}),
        ("gated-resnet-34", "gated", {"identity": 13, "projection": 3}),
    ],
)
def test_shortcuts_by_option(name: str, shortcut: str, expected: dict[str, int]) -> None:
    """Each option draws its kinds of shortcut, as often as the paper has them."""
    shortcuts = [step.shortcut for step in steps_of(name, shortcut=shortcut) if step.shortcut]
    assert Counter(each.kind for each in shortcuts) == expected
    assert all(each.gated == (shortcut == "gated") for each in shortcuts)


def test_shortcuts_are_labelled() -> None:
    """A shortcut that is no identity says what it does and how it strides."""
    labels = {
        option: [step.shortcut.label for step in steps_of("resnet-18", shortcut=option) if step.shortcut]
        for option in ("A", "B", "C")
    }
    assert labels["A"] == ["", "", *["zero padding, /2", ""] * 3]
    assert labels["B"] == ["", "", *["W_s 1x1, /2", ""] * 3]
    assert labels["C"] == ["W_s 1x1", "W_s 1x1", *["W_s 1x1, /2", "W_s 1x1"] * 3]


def test_plain_34_reads_as_in_figure_3() -> None:
    """The texts of the middle column of Fig. 3, from the image to the classifier."""
    column = make_column(find("plain-34"))
    assert column.source == "image: 3-d, 224x224"
    assert column.facts == ("34 layers", "21.6M parameters", "3.64G multiply-adds")
    assert [box.text for box in column.boxes] == [
        "7x7 conv, 64, /2",
        "max-pool, 3x3, /2",
        *["3x3 conv, 64"] * 6,
        "3x3 conv, 128, /2",
        *["3x3 conv, 128"] * 7,
        "3x3 conv, 256, /2",
        *["3x3 conv, 256"] * 11,
        "3x3 conv, 512, /2",
        *["3x3 conv, 512"] * 5,
        "avg pool",
        "fc 1000",
    ]
    sizes = Counter(box.size for box in column.boxes)
    assert sizes == {f"output size: {size}": n for size, n in ((112, 1), (56, 7), (28, 8), (14, 12), (7, 6), (1, 2))}


@pytest.mark.parametrize(("stride_in", "strided"), [("1x1", 0), ("3x3", 1)])
def test_the_stride_stands_in_the_layer_that_has_it(stride_in: str, strided: int) -> None:
    """A bottleneck halves the map in its 1x1 or its 3x3 layer, and the sizes follow."""
    steps = steps_of("resnet-50", stride_in=stride_in)
    block = next(step for step in steps if step.shortcut and step.shortcut.label == "W_s 1x1, /2")
    assert ["/2" in box.text for box in block.boxes] == [index == strided for index in range(3)]
    assert [box.size for box in block.boxes] == [f"output size: {56 if index < strided else 28}" for index in range(3)]


@pytest.mark.parametrize(
    "name", ["resnet-101", "resnet-152", "resnet-110", "plain-110", "resnet-1202", "gated-resnet-110"]
)
def test_folded_boxes_add_up_to_the_depth(name: str) -> None:
    """Deep networks fit on a page, and what is folded is counted."""
    boxes = boxes_of(name)
    folded = [box for box in boxes if box.folded]
    assert folded
    assert len(boxes) < 80
    assert sum(box.layers for box in boxes) == int(name.rpartition("-")[2])
    per_block = 3 if name in ("resnet-101", "resnet-152") else 2
    assert [box.text for box in folded] == [f"⋮ {box.layers // per_block} more blocks like this" for box in folded]


def test_a_long_run_shows_its_first_two_blocks_and_its_last() -> None:
    """Of 200 like blocks the first two and the last are drawn."""
    steps = steps_of("resnet-1202")[1:6]
    assert [step.boxes[0].folded for step in steps] == [False, False, True, False, False]
    assert steps[2].boxes[0].text == "⋮ 197 more blocks like this"
    assert steps[0] == steps[1] == steps[3] != steps[4]


@pytest.mark.parametrize(
    ("overrides", "first", "second"),
    [
        ({"dimensions": 3, "input_size": 16}, "3x3x3 conv, 16", "3x3x3 conv, 16"),
        ({"dimensions": 1}, "3 conv, 16", "3 conv, 16"),
        ({"squeeze_excitation": 4}, "3x3 conv, 16", "3x3 conv, 16, SE"),
        ({"maxout": 2}, "3x3 conv, 16, maxout 2", "3x3 conv, 16"),
    ],
)
def test_options_show_in_the_boxes(overrides: dict[str, object], first: str, second: str) -> None:
    """Dimensions, squeeze-excitation and maxout are written where they act."""
    assert [box.text for box in steps_of("resnet-20", **overrides)[1].boxes] == [first, second]


def test_vectors_have_no_map() -> None:
    """A network over vectors is fully connected: no sizes, no average pool."""
    column = make_column(find("dense-resnet-8"))
    assert column.source == "vector: 64-d"
    assert [box.text for box in column.boxes] == [*["fc 64"] * 7, "fc 10"]
    assert {box.size for box in column.boxes} == {""}


@pytest.mark.parametrize(("norm", "text"), [("batch", "BN, ReLU"), ("group", "GN, ReLU"), ("none", "ReLU")])
def test_preactivation_ends_with_its_own_box(norm: str, text: str) -> None:
    """The normalization and ReLU that close a pre-activation network stand before the pool."""
    assert [box.text for box in boxes_of("resnet-20", order="pre", norm=norm)][-3:] == [text, "avg pool", "fc 10"]
    assert text not in [box.text for box in boxes_of("resnet-20", norm=norm)]
