"""Products of the mean loss's Hessian, or Gauss-Newton matrix, with several vectors, over images that stream by."""

from __future__ import annotations

import abc
import contextlib
import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor, nn

from reslab.analysis.curvature.settings import Matrix, Precision
from reslab.analysis.curvature.tangents import Directions
from reslab.analysis.norms import Norms, normalizing
from reslab.networks import Network

Losses: TypeAlias = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Which matrix: of what network, on which images, by what loss of each, normalized how.

    `batches` gives images and targets anew each time it is called; `losses` takes what the network puts out, and
    targets. `norms` says by which statistics batch norm normalizes: those of a batch are differentiated through.
    """

    network: Network
    batches: Callable[[], Iterable[tuple[Tensor, Tensor]]]
    losses: Losses
    matrix: Matrix = "hessian"
    norms: Norms = "fixed"
    weight_decay: float = 0.0
    precision: Precision = "fp32"


def prepare_network(network: Network, precision: Precision) -> Network:
    """Return a copy in this precision, to be differentiated by all its parameters."""
    own = copy.deepcopy(network).requires_grad_(True)
    own.checkpointing = False
    return own.double() if precision == "fp64" else own


class Products(abc.ABC):
    """A symmetric matrix by its products; weight decay makes it larger by as much in every direction."""

    def __init__(self, problem: Problem, parameters: Sequence[nn.Parameter]) -> None:
        self.problem, self.parameters = problem, list(parameters)
        self.size = sum(parameter.numel() for parameter in parameters)
        self.directions: dict[int, Directions] = {}

    def multiply(self, vectors: Tensor) -> Tensor:
        """Return the products with vectors, both as rows (vectors, weights)."""
        count = len(vectors)
        if count not in self.directions:
            self.directions[count] = Directions(self.parameters, count)
        directions, images = self.directions[count], 0
        with _compute_in(self.problem.precision), normalizing(self.problem.network, self.problem.norms):
            directions.given.copy_(vectors)
            directions.found.zero_()
            for batch, targets in self.problem.batches():
                self.add(directions, batch, targets)
                images += len(batch)
        return (directions.found / images).add_(vectors, alpha=self.problem.weight_decay)

    @abc.abstractmethod
    def add(self, directions: Directions, images: Tensor, targets: Tensor) -> None:
        """Add the products with the matrix of the losses' sum over a batch."""


@torch.enable_grad()
def differentiate_losses(losses: Losses, outputs: Tensor, targets: Tensor, moved: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradient by outputs of the losses' sum, and by how much it moves as the outputs do.

    Outputs may move in several directions, stacked along the images; each image's loss is its own, so these are more
    images.
    """
    count = len(moved) // len(outputs)
    copies = outputs.detach().repeat(count, *[1] * (outputs.dim() - 1)).requires_grad_()
    loss = losses(copies, targets.repeat(count, *[1] * (targets.dim() - 1))).sum()
    (gradient,) = torch.autograd.grad(loss, copies, create_graph=True)
    (second,) = torch.autograd.grad(gradient, copies, moved)
    return gradient[: len(outputs)].detach(), second


@contextlib.contextmanager
def _compute_in(precision: Precision) -> Iterator[None]:
    """Let convolutions give the same bits each time, and round to 10 bits only where that is asked for."""
    with torch.backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=precision == "tf32"):
        yield
