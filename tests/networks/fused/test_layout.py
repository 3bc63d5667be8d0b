"""Which layer reads what, and what arrives where."""

import pytest
from tests.networks.fused.beside import make_network

from reslab.networks.fused.layout import lay_out, layers_alike


@pytest.mark.parametrize(("name", "convolutions"), [("cifar-resnet-8", 7), ("cifar-plain-8", 7), ("resnet-20", 19)])
def test_every_convolution_is_in_it_once(name: str, convolutions: int) -> None:
    """6n+1 of them, in order, each reading the one before where there are no projections."""
    layers = lay_out(make_network(name))
    assert len({id(layer.conv) for layer in layers}) == convolutions
    assert [layer.reads for layer in layers] == list(range(-1, convolutions - 1))
    assert layers[-1].target_side == 8


def test_shortcuts_arrive_at_the_ends_of_blocks() -> None:
    """From two layers before, with option A's zeros where dimensions change."""
    layers = lay_out(make_network("cifar-resnet-8", zero_padding="both"))
    assert [layer.shortcut for layer in layers[1::2]] == ["none"] * 3
    assert [layer.shortcut for layer in layers[2::2]] == ["identity", "zero-padding", "zero-padding"]
    assert [layer.arrives for layer in layers[2::2]] == [0, 2, 4]
    assert [layer.zeros_before for layer in layers[2::2]] == [0, 8, 16]


def test_projections_read_what_their_blocks_read() -> None:
    """And arrive as responses at the layer after them."""
    layers = lay_out(make_network("cifar-resnet-8", shortcut="C"))
    projections = [number for number, layer in enumerate(layers) if layer.projects]
    assert projections == [2, 5, 8]
    for number in projections:
        assert layers[number].reads == layers[number - 1].reads
        assert (layers[number + 1].shortcut, layers[number + 1].arrives) == ("projection", number)
        assert layers[number + 1].reads == number - 1


def test_layers_alike_have_one_shape() -> None:
    """All of a stage but its first, wherever they stand."""
    layers = lay_out(make_network("cifar-resnet-14", shortcut="C"))
    for number, alike in enumerate(layers_alike(layers)):
        assert number in alike
        assert all(layers[other].shape == layers[number].shape for other in alike)


def test_preactivated_sums_go_on_as_they_are() -> None:
    """Each convolution has the normalization after it; blocks with an activated input have an activated shortcut."""
    network = make_network("cifar-resnet-14", order="pre")
    layers = lay_out(network)
    assert [layer.shortcut for layer in layers[2::2]] == [
        "identity",
        "sum",
        "zero-padding",
        "sum",
        "zero-padding",
        "sum",
    ]
    assert all(layer.joins_before for layer in layers[2::2])
    norms = [module for name, module in network.named_modules() if name.endswith("norm")]
    assert [layer.norm for layer in layers] == norms  # in the order they are passed through
    assert [layer.arrives for layer in layers[2::2]] == [0, 2, 4, 6, 8, 10]
