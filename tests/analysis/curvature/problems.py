"""A network small enough for its whole Hessian, in float64, and that Hessian as torch's own derivatives have it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import reslab
from reslab.analysis.curvature.operators import Operator
from reslab.analysis.curvature.products import Problem
from reslab.analysis.curvature.tangents import Directions, Dual
from reslab.analysis.norms import Norms, normalizing
from reslab.networks import Network, build

IMAGES = 10


def make_network(seed: int = 0, *, dtype: torch.dtype = torch.float64, **fields: Any) -> Network:
    """Two blocks; normalizations have seen something, so that none is the identity."""
    stages = (reslab.StageSpec(width=2, blocks=1), reslab.StageSpec(width=3, blocks=1, stride=2))
    usual = {"stem": reslab.StemSpec(width=2, kernel=3), "stages": stages, "channels": 1, "classes": 3, "input_size": 8}
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = build(reslab.NetworkSpec(**(usual | fields))).to(dtype).eval()
        for module in network.modules():
            if isinstance(module, nn.modules.batchnorm._BatchNorm):
                for tensor in (module.weight, module.running_var):
                    nn.init.uniform_(tensor, 0.5, 1.5)  # pyright: ignore[reportArgumentType]
                for tensor in (module.bias, module.running_mean):
                    nn.init.normal_(tensor, std=0.2)  # pyright: ignore[reportArgumentType]
        nn.init.normal_(network.get_parameter("classifier.weight"))
    return network


def draw(shape: tuple[int, ...], seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Normal numbers, always the same."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def losses(outputs: Tensor, targets: Tensor) -> Tensor:
    """Each image's cross-entropy."""
    return F.cross_entropy(outputs, targets, reduction="none")


def make_problem(network: Network, *, split: tuple[int, ...] = (IMAGES,), **fields: Any) -> Problem:
    """Ten images of noise in batches of these sizes."""
    dtype = next(network.parameters()).dtype
    images = draw((IMAGES, *network.spec.input_shape), 1, dtype)
    targets = torch.arange(IMAGES) % 3

    def batches() -> Iterator[tuple[Tensor, Tensor]]:
        yield from zip(images.split(split), targets.split(split), strict=True)

    return Problem(**({"network": network, "batches": batches, "losses": losses} | fields))


def mean_loss(network: Network, problem: Problem) -> Tensor:
    """The mean loss over all images; by batch, each batch is normalized by itself."""
    with normalizing(network, problem.norms):
        return torch.cat([losses(network(images), targets) for images, targets in problem.batches()]).mean()


def dense_hessian(problem: Problem) -> Tensor:
    """Every second derivative, as torch differentiates a gradient."""
    network = problem.network
    parameters = list(network.parameters())
    with torch.enable_grad():
        gradients = torch.autograd.grad(mean_loss(network, problem), parameters, create_graph=True)
        gradient = torch.cat([part.flatten() for part in gradients])
        identity = torch.eye(len(gradient), dtype=gradient.dtype)
        rows = torch.autograd.grad(gradient, parameters, identity, is_grads_batched=True)
    return torch.cat([row.flatten(1) for row in rows], 1)


def dense_gauss_newton(problem: Problem, norms: Norms = "fixed") -> Tensor:
    """J' (diag(p) - p p') J, averaged over images, with the softmax's p and the Jacobian J of the logits."""
    network = problem.network
    parameters = list(network.parameters())
    total, count = torch.zeros(()), 0
    for images, _ in problem.batches():
        with normalizing(network, norms), torch.enable_grad():
            outputs = network(images)
            identity = torch.eye(outputs.numel(), dtype=outputs.dtype).view(-1, *outputs.shape)
            rows = torch.autograd.grad(outputs, parameters, identity, is_grads_batched=True)
        jacobian = torch.cat([row.flatten(1) for row in rows], 1).view(*outputs.shape, -1)
        shares = outputs.detach().softmax(1)
        curved = torch.diag_embed(shares) - shares[:, :, None] * shares[:, None]
        total = total + torch.einsum("icp,icd,idq->pq", jacobian, curved, jacobian)
        count += len(images)
    return total / count


def check_operator(operator: Operator, module: nn.Module, shape: tuple[int, ...], *, count: int = 2) -> None:
    """Compare an operator with torch's derivatives of the module: forward, back, and with parts left out."""
    parameters = list(module.parameters())
    directions = Directions(parameters or [nn.Parameter(draw((1,), 0))], count)
    directions.given.copy_(draw(tuple(directions.given.shape), 3))
    x, moved_x = draw(shape, 4), draw((count * shape[0], *shape[1:]), 5)
    moved = [[directions.part_of(each)[row] for each in parameters] for row in range(count)]
    names = [name for name, _ in module.named_parameters()]

    def apply(x: Tensor, *values: Tensor) -> Tensor:
        return torch.func.functional_call(module, dict(zip(names, values, strict=True)), (x.clone(),))

    output = apply(x, *parameters).detach()
    gradient, moved_gradient = draw(tuple(output.shape), 6), draw((count * len(x), *output.shape[1:]), 7)

    def pull(x: Tensor, gradient: Tensor, *values: Tensor) -> tuple[Tensor, ...]:
        pull_back = torch.func.vjp(lambda *inputs: apply(*inputs), x, *values)[1]
        return pull_back(gradient)

    values = [parameter.detach() for parameter in parameters]
    for second in (True, False):
        for arrives in (True, False) if parameters else (True,):
            with torch.no_grad():
                directions.found.zero_()
                left = operator.forward(Dual(x, moved_x if arrives else None), directions)
                back = operator.backward(Dual(gradient if second else None, moved_gradient), directions)
            assert torch.allclose(left.map, output)
            assert left.tangents is not None
            assert (back is not None) == arrives
            for row in range(count):
                step = moved_x.unflatten(0, (count, -1))[row] if arrives else torch.zeros_like(x)
                inputs, along = (x, *values), (step, *moved[row])
                _, pushed = torch.autograd.functional.jvp(apply, inputs, along)
                assert torch.allclose(left.tangents.unflatten(0, (count, -1))[row], pushed)  # pyright: ignore[reportArgumentType]
                upstream = moved_gradient.unflatten(0, (count, -1))[row]
                if second:
                    inputs, along = (x, gradient, *values), (step, upstream, *moved[row])
                    _, expected = torch.autograd.functional.jvp(pull, inputs, along)
                else:
                    expected = pull(x, upstream, *values)
                if back is not None and back.tangents is not None:
                    assert torch.allclose(back.tangents.unflatten(0, (count, -1))[row], expected[0])
                for parameter, product in zip(parameters, expected[1:], strict=True):
                    found = directions.product_of(parameter)[row]
                    assert torch.allclose(found, product), (second, arrives, parameter.shape)
            if back is not None and second:
                assert back.value is not None
                assert torch.allclose(back.value, pull(x, gradient, *values)[0])
