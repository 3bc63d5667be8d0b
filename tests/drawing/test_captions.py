"""The short forms of the paper's figures."""

from __future__ import annotations

import pytest

from reslab.drawing.captions import explain, write_convolution, write_count, write_order, write_shape
from reslab.spec import NetworkSpec, find


@pytest.mark.parametrize(
    ("kernel", "stride", "expected"),
    [
        ((), 1, "fc 128"),
        ((3,), 1, "3 conv, 128"),
        ((3, 3), 2, "3x3 conv, 128, /2"),
        ((3, 3, 3), 1, "3x3x3 conv, 128"),
    ],
)
def test_convolutions_in_any_number_of_dimensions(kernel: tuple[int, ...], stride: int, expected: str) -> None:
    """A kernel is written once for each dimension, and over none the layer is fully connected."""
    assert write_convolution(kernel, 128, stride) == expected


def test_shapes() -> None:
    """Shapes read as in Fig. 5, with the map where there is one."""
    assert write_shape(64, (56, 56)) == "64-d, 56x56"
    assert write_shape(64, ()) == "64-d"


@pytest.mark.parametrize(
    ("count", "expected"),
    [(999, "999"), (61_706, "61.7k"), (1_727_962, "1.73M"), (143_667_240, "144M"), (3_644_493_824, "3.64G")],
)
def test_counts_have_three_digits(count: int, expected: str) -> None:
    """Large counts are told in three digits and a letter."""
    assert write_count(count) == expected


def test_only_the_short_forms_in_use_are_explained() -> None:
    """The explanation names each stride and norm that occurs, and nothing else."""
    assert explain(["1x1 conv, 64, /2", "frozen BN", "ReLU"]) == (
        "/2: stride 2 · frozen BN: batch normalization with constant statistics and scale"
    )
    assert explain(["sigmoid(1x1 conv, 64, /3)", "3x3 conv, 64, SE"]) == "/3: stride 3 · SE: squeeze-excitation"
    assert explain(["3x3 conv, 64"]) == ""


def test_plain_networks_have_no_addition_to_speak_of() -> None:
    """The order of a plain network is told without an addition."""
    orders = {}
    for name, order in (("plain-20", "post"), ("plain-20", "pre"), ("resnet-20", "pre")):
        spec = find(name, {"order": order})
        assert isinstance(spec, NetworkSpec)
        orders[name, order] = write_order(spec)
    assert orders == {
        ("plain-20", "post"): "without shortcuts",
        ("plain-20", "pre"): "without shortcuts, pre-activation",
        ("resnet-20", "pre"): "pre-activation",
    }
