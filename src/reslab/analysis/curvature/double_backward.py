"""Products by differentiating a gradient again, as PyHessian has them: for whatever can be differentiated twice."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from reslab.analysis.curvature.products import Products, differentiate_losses
from reslab.analysis.curvature.tangents import Directions


class DoubleBackward(Products):
    """Torch's own derivatives of its own derivatives, one direction after the other."""

    @torch.enable_grad()
    def add(self, directions: Directions, images: Tensor, targets: Tensor) -> None:
        problem = self.problem
        with torch.autocast(images.device.type, torch.bfloat16, enabled=problem.precision == "bf16"):
            outputs = problem.network(images).to(directions.given.dtype)
        if problem.matrix == "hessian":
            self._add_second_derivatives(directions, problem.losses(outputs, targets).sum())
        else:
            self._add_through_outputs(directions, outputs, targets)

    def _add_second_derivatives(self, directions: Directions, loss: Tensor) -> None:
        gradients = self._differentiate(loss, self.parameters, None)
        for row in range(directions.count):
            moved = torch.autograd.grad(
                gradients, self.parameters, self._row(directions, row), retain_graph=True, materialize_grads=True
            )
            self._add_row(directions, row, moved)

    def _add_through_outputs(self, directions: Directions, outputs: Tensor, targets: Tensor) -> None:
        # The derivative by u of the gradients that u pulls back is what a direction pushes forward.
        u = torch.zeros_like(outputs, requires_grad=True)
        pulled = self._differentiate(outputs, self.parameters, u)
        for row in range(directions.count):
            (pushed,) = torch.autograd.grad(pulled, u, self._row(directions, row), retain_graph=True)
            _, moved = differentiate_losses(self.problem.losses, outputs.detach(), targets, pushed)
            products = torch.autograd.grad(outputs, self.parameters, moved, retain_graph=True, materialize_grads=True)
            self._add_row(directions, row, products)

    def _differentiate(self, output: Tensor, inputs: Sequence[Tensor], upstream: Tensor | None) -> tuple[Tensor, ...]:
        return torch.autograd.grad(output, inputs, upstream, create_graph=True, materialize_grads=True)

    def _row(self, directions: Directions, row: int) -> list[Tensor]:
        return [directions.part_of(parameter)[row] for parameter in self.parameters]

    def _add_row(self, directions: Directions, row: int, products: Sequence[Tensor]) -> None:
        for parameter, product in zip(self.parameters, products, strict=True):
            directions.add(parameter, product, row=row)
