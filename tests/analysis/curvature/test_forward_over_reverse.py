"""Products for a part of the weights, without a block's shortcut, and captured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from tests.analysis.curvature.problems import dense_gauss_newton, dense_hessian, draw, make_network, make_problem
from torch import nn

from reslab.analysis.curvature import forward_over_reverse
from reslab.analysis.curvature.forward_over_reverse import ForwardOverReverse
from reslab.networks.resnet import ResidualNetwork


def list_places(network: nn.Module, parameters: list[nn.Parameter]) -> torch.Tensor:
    """Where these parameters are among all."""
    wanted = {id(parameter) for parameter in parameters}
    every = [torch.full((each.numel(),), id(each) in wanted) for each in network.parameters()]
    return torch.cat(every).nonzero().flatten()


@pytest.mark.parametrize("norms", ["fixed", "batch"])
@pytest.mark.parametrize("matrix", ["hessian", "gauss-newton"])
@pytest.mark.parametrize("part", ["stem", "blocks.conv2_1.layers", "blocks.conv3_1", "classifier"])
def test_products_for_some_parameters_are_a_block_of_the_matrix(part: str, matrix: str, norms: str) -> None:
    """Wherever in the network they are."""
    network = make_network()
    problem = make_problem(network, matrix=matrix, norms=norms, precision="fp64")
    whole = dense_hessian(problem) if matrix == "hessian" else dense_gauss_newton(problem, norms)  # pyright: ignore[reportArgumentType]
    parameters = list(network.get_submodule(part).parameters())
    places = list_places(network, parameters)
    products = ForwardOverReverse(problem, parameters)
    found = products.multiply(torch.eye(products.size).double())
    assert torch.allclose(found, whole[places][:, places], rtol=1e-10, atol=1e-12)


def test_without_a_shortcut_a_block_is_plain() -> None:
    """As in a plain network by the same weights, but for the other block."""
    network, plain = make_network(), make_network(shortcut="none")
    assert isinstance(network, ResidualNetwork)
    plain.load_state_dict(network.state_dict())
    blocks = list(network.blocks)
    vectors = draw((2, sum(each.numel() for each in network.parameters())), 2)
    problem = make_problem(network, precision="fp64")
    cut = ForwardOverReverse(problem, list(network.parameters()), without=blocks).multiply(vectors)
    one = ForwardOverReverse(problem, list(network.parameters()), without=blocks[:1]).multiply(vectors)
    expected = ForwardOverReverse(replace(problem, network=plain), list(plain.parameters())).multiply(vectors)
    assert torch.allclose(cut, expected, rtol=1e-12)
    assert not torch.allclose(one, expected)


def test_each_shape_of_batch_is_captured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rehearsals leave nothing behind; batches are copied to where the recording reads."""
    recorded = []

    def capture(work: Callable[[], None], **_: object) -> Callable[[], None]:
        recorded.append(work)
        for _rehearsal in range(3):
            work()
        return work

    monkeypatch.setattr(forward_over_reverse, "capture", capture)
    monkeypatch.setattr(forward_over_reverse, "Room", lambda device: None)
    network = make_network()
    parameters = list(network.parameters())
    problem = make_problem(network, split=(4, 4, 2), precision="fp64")
    vectors = draw((2, sum(each.numel() for each in parameters)), 2)
    captured = ForwardOverReverse(problem, parameters)
    expected = captured.multiply(vectors)
    assert not recorded
    monkeypatch.setattr(captured, "captures", True)
    for factor in (1, 2):
        assert torch.allclose(captured.multiply(factor * vectors), factor * expected, rtol=1e-12)
    assert len(recorded) == 2
    captured.multiply(vectors[:1])
    assert len(recorded) == 4


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_gpu_the_numbers_are_those_of_the_cpu() -> None:
    """In float64, captured, over and over."""
    network = make_network()
    parameters = list(network.parameters())
    vectors = draw((2, sum(each.numel() for each in parameters)), 2)
    for matrix, norms in (("hessian", "fixed"), ("hessian", "batch"), ("gauss-newton", "fixed")):
        problem = make_problem(network.cpu(), split=(4, 4, 2), matrix=matrix, norms=norms, precision="fp64")
        expected = ForwardOverReverse(problem, parameters).multiply(vectors)
        batches = [(images.cuda(), targets.cuda()) for images, targets in problem.batches()]
        network.cuda()
        products = ForwardOverReverse(replace(problem, batches=lambda to=batches: to), parameters)
        for _ in range(2):
            assert torch.allclose(products.multiply(vectors.cuda()).cpu(), expected, rtol=1e-9, atol=1e-11)
