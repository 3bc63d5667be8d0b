"""What differentiates twice takes networks of any kind; that its products are right is seen in `test_products`."""

from __future__ import annotations

from itertools import starmap

import pytest
import torch
from tests.analysis.curvature.problems import draw, losses

from reslab.analysis.curvature.double_backward import DoubleBackward
from reslab.analysis.curvature.products import Problem
from reslab.networks import create_model


@pytest.mark.parametrize(
    ("name", "fields"), [("lenet-5", {}), ("cifar-resnet-8", {"shortcut": "gated", "input_size": 8})]
)
@pytest.mark.parametrize("matrix", ["hessian", "gauss-newton"])
def test_products_are_symmetric_and_linear(name: str, fields: dict[str, object], matrix: str) -> None:
    """As those of a matrix are."""
    network = create_model(name, **fields).double().eval()  # pyright: ignore[reportArgumentType]
    batches = [(draw((3, *network.spec.input_shape), 0), torch.arange(3))]
    problem = Problem(network=network, batches=lambda: batches, losses=losses, matrix=matrix, precision="fp64")  # pyright: ignore[reportArgumentType]
    products = DoubleBackward(problem, list(network.parameters()))
    vectors = draw((2, products.size), 1)
    a, b, both = products.multiply(torch.cat([vectors, vectors.sum(0, keepdim=True)]))
    assert torch.allclose(a @ vectors[1], b @ vectors[0], rtol=1e-9)
    assert torch.allclose(a + b, both, rtol=1e-9, atol=1e-12)
    if matrix == "gauss-newton":
        assert all(value > 0 for value in starmap(torch.dot, zip((a, b), vectors, strict=True)))
