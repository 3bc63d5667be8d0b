"""LeNet-5."""

from __future__ import annotations

import torch

from reslab.networks import create_model


def test_shapes_are_those_of_1998() -> None:
    """C1 6@28, S2 6@14, C3 16@10, S4 16@5, C5 120, F6 84."""
    seen = create_model("lenet-5").activations(torch.randn(1, 1, 32, 32))
    shapes = [tuple(tensor.shape[1:]) for tensor in seen.values()]
    assert shapes == [(6, 28, 28), (6, 14, 14), (16, 10, 10), (16, 5, 5), (120, 1, 1), (120,), (84,), (10,)]


def test_colour_and_larger_images_pass() -> None:
    """Other channels and sizes are allowed."""
    network = create_model("lenet-5", in_chans=3, input_size=48)
    assert network(torch.randn(2, 3, 48, 48)).shape == (2, 10)
