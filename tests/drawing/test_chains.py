"""Columns of networks that are known as modules."""

from __future__ import annotations

import pytest
import torch

from reslab.drawing.chains import follow_chain
from reslab.drawing.columns import make_column
from reslab.drawing.parts import Box
from reslab.networks.build import build
from reslab.spec import NetworkSpec, find


def follow(name: str, **overrides: object) -> list[Box]:
    """Return the boxes of a named network."""
    spec = find(name, overrides)
    assert not isinstance(spec, NetworkSpec)
    return [box for step in follow_chain(spec) for box in step.boxes]


def test_vgg_19_is_the_left_column_of_figure_3() -> None:
    """VGG-19 reads as in Fig. 3, whose pools say /2."""
    boxes = follow("vgg-19")
    pool = "max-pool, 2x2, /2"
    assert [box.text for box in boxes] == [
        *["3x3 conv, 64"] * 2,
        pool,
        *["3x3 conv, 128"] * 2,
        pool,
        *["3x3 conv, 256"] * 4,
        pool,
        *["3x3 conv, 512"] * 4,
        pool,
        *["3x3 conv, 512"] * 4,
        pool,
        "fc 4096",
        "fc 4096",
        "fc 1000",
    ]
    sizes = [224] * 2 + [112] * 3 + [56] * 5 + [28] * 5 + [14] * 5 + [7] + [1] * 3
    assert [box.size for box in boxes] == [f"output size: {size}" for size in sizes]


@pytest.mark.parametrize(
    ("name", "depth"),
    [("alexnet", 8), ("vgg-16", 16), ("vgg-19-bn", 19), ("lenet-5", 5), ("highway-19", 19), ("highway-32", 32)],
)
def test_depths(name: str, depth: int) -> None:
    """Where every box is a layer, the weight layers add up to the depth, and the head says so."""
    column = make_column(find(name))
    assert sum(box.layers for box in column.boxes) == depth
    assert column.facts[0] == f"{depth} layers"


def test_normalization_and_activation_belong_to_the_layer_before() -> None:
    """Batch normalization adds no box to VGG."""
    assert [box.text for box in follow("vgg-16-bn")] == [box.text for box in follow("vgg-16")]


def test_highway_layers_are_gated() -> None:
    """Each highway layer has a gate beside it, and nothing else has."""
    spec = find("highway-19")
    assert not isinstance(spec, NetworkSpec)
    steps = follow_chain(spec)
    assert sum(step.shortcut is not None and step.shortcut.gated for step in steps) == 14
    assert all(step.boxes[0].text.startswith("3x3 conv") for step in steps if step.shortcut)
    assert [step.boxes[0].text for step in steps[-3:]] == ["1x1 conv, 100", "avg pool", "fc 10"]


@pytest.mark.parametrize(
    ("name", "composite", "number"),
    [("googlenet", "Inception", 9), ("densenet-121", "DenseBlock", 4), ("efficientnet-b0", "MBConv", 16)],
)
def test_what_branches_is_one_box(name: str, composite: str, number: int) -> None:
    """Composite modules are drawn as one box each, under their class's name; such a chain has no depth."""
    column = make_column(find(name))
    assert sum(box.text.startswith(f"{composite}, ") for box in column.boxes) == number
    assert not any("layers" in fact for fact in column.facts)
    assert column.boxes[-2].text == "avg pool"
    assert column.boxes[-1].text == "fc 1000"


def test_strides_of_composites_are_seen_from_their_maps() -> None:
    """An MBConv that halves the map says so."""
    assert [box.text for box in follow("efficientnet-b0")][:4] == [
        "3x3 conv, 32, /2",
        "MBConv, 16",
        "MBConv, 24, /2",
        "MBConv, 24",
    ]


def test_functions_are_seen_too() -> None:
    """DenseNet's last ReLU and pool are calls of functions, and stand in the picture."""
    assert [box.text for box in follow("densenet-121")][-4:] == ["DenseBlock, 1024", "BN, ReLU", "avg pool", "fc 1000"]


def test_tokens() -> None:
    """The vision transformer's map becomes a sequence of patches and one class token."""
    column = make_column(find("vit-b-16"))
    assert column.boxes[0].text == "16x16 conv, 768, /16"
    assert [box.size for box in column.boxes[1:-1]] == ["197 tokens"] * (len(column.boxes) - 2)
    assert [box.text for box in column.boxes[1:-2]] == [
        *["EncoderBlock, 768"] * 2,
        "⋮ 9 more blocks like this",
        "EncoderBlock, 768",
    ]
    assert [box.text for box in column.boxes[-2:]] == ["LN", "fc 1000"]


@pytest.mark.parametrize(("size", "pool"), [(224, []), (64, ["avg pool to 7x7"])])
def test_a_pool_that_changes_nothing_is_not_drawn(size: int, pool: list[str]) -> None:
    """VGG's last pool does nothing at the size it was made for."""
    assert [box.text for box in follow("vgg-16", input_size=size) if "avg" in box.text] == pool


@pytest.mark.parametrize("name", ["highway-19", "lenet-5"])
def test_sizes_are_those_of_the_network(name: str) -> None:
    """The last map and every change of size are those of the real network."""
    spec = find(name)
    seen = build(spec, device="meta").eval().activations(torch.empty(1, *spec.input_shape, device="meta"))
    sizes = [tensor.shape[-1] if tensor.dim() == 4 else 1 for tensor in seen.values()]
    assert list(dict.fromkeys(f"output size: {size}" for size in sizes)) == list(
        dict.fromkeys(box.size for box in follow(name))
    )
