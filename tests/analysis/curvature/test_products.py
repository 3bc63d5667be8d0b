"""Products against every second derivative of a small network, and against differences of gradients."""

from __future__ import annotations

import pytest
import torch
from tests.analysis.curvature.problems import (
    dense_gauss_newton,
    dense_hessian,
    draw,
    losses,
    make_network,
    make_problem,
    mean_loss,
)
from torch import nn

from reslab.analysis.curvature.double_backward import DoubleBackward
from reslab.analysis.curvature.forward_over_reverse import ForwardOverReverse
from reslab.analysis.curvature.products import Products, differentiate_losses, prepare_network
from reslab.networks import create_model

WAYS = [ForwardOverReverse, DoubleBackward]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("norms", ["fixed", "batch"])
def test_products_are_those_of_the_hessian(way: type[Products], norms: str) -> None:
    """Batches of several sizes; by each batch's statistics they are differentiated through."""
    network = make_network()
    problem = make_problem(network, split=(6, 4), norms=norms, precision="fp64")
    products = way(problem, list(network.parameters()))
    vectors = draw((20, products.size), 2)
    assert torch.allclose(products.multiply(vectors), vectors @ dense_hessian(problem), rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("norms", ["fixed", "batch"])
def test_products_are_those_of_the_gauss_newton_matrix(way: type[Products], norms: str) -> None:
    """By the Jacobian and the softmax's own Hessian, which is known."""
    network = make_network()
    problem = make_problem(network, split=(6, 4), matrix="gauss-newton", norms=norms, precision="fp64")
    products = way(problem, list(network.parameters()))
    vectors, expected = draw((20, products.size), 2), dense_gauss_newton(problem, norms)  # pyright: ignore[reportArgumentType]
    assert torch.allclose(products.multiply(vectors), vectors @ expected, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("norms", ["fixed", "batch"])
def test_products_are_differences_of_gradients(norms: str) -> None:
    """A small step either way along the vector, so small that no ReLU turns on it."""
    network = make_network()
    problem = make_problem(network, norms=norms, precision="fp64")
    parameters = list(network.parameters())
    products = ForwardOverReverse(problem, parameters)
    vector, step = draw((products.size,), 2), 1e-7
    gradients = []
    start = nn.utils.parameters_to_vector(parameters).detach()
    for sign in (1, -1):
        nn.utils.vector_to_parameters(start + sign * step * vector, parameters)
        with torch.enable_grad():
            parts = torch.autograd.grad(mean_loss(network, problem), parameters)
        gradients.append(torch.cat([part.flatten() for part in parts]))
    nn.utils.vector_to_parameters(start, parameters)
    difference = (gradients[0] - gradients[1]) / (2 * step)
    assert torch.allclose(products.multiply(vector[None])[0], difference, rtol=1e-5, atol=1e-6)


def test_products_equal_those_of_curvlinops() -> None:
    """Where that library is installed; it is checked against in float64."""
    curvlinops = pytest.importorskip("curvlinops", reason="curvlinops is not installed")
    network = make_network()
    parameters = list(network.parameters())
    for matrix, operator in (("hessian", "HessianLinearOperator"), ("gauss-newton", "GGNLinearOperator")):
        problem = make_problem(network, split=(6, 4), matrix=matrix, precision="fp64")
        theirs = getattr(curvlinops, operator)(network, nn.CrossEntropyLoss(), parameters, list(problem.batches()))
        vector = draw((sum(each.numel() for each in parameters),), 2)
        ours = ForwardOverReverse(problem, parameters).multiply(vector[None])[0]
        assert torch.allclose(ours, theirs @ vector, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("matrix", ["hessian", "gauss-newton"])
def test_how_images_are_batched_changes_nothing_by_fixed_statistics(way: type[Products], matrix: str) -> None:
    """Nor how many vectors are multiplied at once."""
    network = make_network()
    parameters = list(network.parameters())
    vectors = draw((3, sum(each.numel() for each in parameters)), 2)
    found = []
    for split in ((10,), (3, 7), (1, 4, 4, 1)):
        products = way(make_problem(network, split=split, matrix=matrix, precision="fp64"), parameters)
        found += [products.multiply(vectors), torch.cat([products.multiply(vector[None]) for vector in vectors])]
    assert all(torch.allclose(each, found[0], rtol=1e-10, atol=1e-13) for each in found[1:])


def test_weight_decay_adds_its_multiple_of_the_vector() -> None:
    """To the bit what is added to the product without."""
    network = make_network()
    parameters = list(network.parameters())
    vectors = draw((2, sum(each.numel() for each in parameters)), 2)
    found = [
        ForwardOverReverse(make_problem(network, weight_decay=decay, precision="fp64"), parameters).multiply(vectors)
        for decay in (0.0, 0.3)
    ]
    assert torch.equal(found[1], found[0].add(vectors, alpha=0.3))


def test_the_same_numbers_every_time() -> None:
    """To the bit, in float32."""
    network = make_network(dtype=torch.float32)
    parameters = list(network.parameters())
    vectors = draw((2, sum(each.numel() for each in parameters)), 2, torch.float32)
    found = [ForwardOverReverse(make_problem(network), parameters).multiply(vectors) for _ in range(2)]
    assert torch.equal(*found)


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-5), ("bf16", 0.2)])
@pytest.mark.parametrize(("norms", "order"), [("fixed", "post"), ("batch", "post"), ("fixed", "pre"), ("batch", "pre")])
@pytest.mark.parametrize("way", WAYS)
def test_less_precision_gives_nearly_the_same(
    way: type[Products], norms: str, order: str, precision: str, tolerance: float
) -> None:
    """In bfloat16 what lies between the images and the average."""
    exact = make_network(order=order)
    vector = draw((1, sum(each.numel() for each in exact.parameters())), 2)
    problem = make_problem(exact, norms=norms, precision="fp64")
    expected = ForwardOverReverse(problem, list(exact.parameters())).multiply(vector)
    network = make_network(order=order).float()
    products = way(make_problem(network, norms=norms, precision=precision), list(network.parameters()))
    assert (products.multiply(vector.float()).double() - expected).norm() < tolerance * expected.norm()


def test_losses_are_differentiated_for_all_directions_at_once() -> None:
    """The gradient, and the cross-entropy's Hessian, which is known, for outputs that move in two directions."""
    outputs, moved, targets = draw((4, 3), 0), draw((8, 3), 1), torch.tensor([0, 1, 2, 0])
    gradient, second = differentiate_losses(losses, outputs, targets, moved)
    shares = outputs.softmax(1)
    assert torch.allclose(gradient, shares - torch.eye(3).double()[targets])
    twice = shares.repeat(2, 1)
    assert torch.allclose(second, twice * moved - twice * (twice * moved).sum(1, keepdim=True))


def test_networks_are_copied_and_left_alone() -> None:
    """The copy has all parameters to be differentiated by, and recomputes nothing."""
    network = create_model("cifar-resnet-8", checkpointing=True).requires_grad_(False)
    own = prepare_network(network, "fp64")
    assert all(parameter.requires_grad and parameter.dtype == torch.float64 for parameter in own.parameters())
    assert not own.checkpointing
    assert not any(parameter.requires_grad for parameter in network.parameters())
    assert next(network.parameters()).dtype == torch.float32
